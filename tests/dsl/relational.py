"""The job of Kafka Streams' relational smoke test: articles and their comments, joined in both directions.

Comments are counted by article, articles are joined with their count, comments with their article (by foreign key).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from forebay.builder import Topology, job
from tests.dsl.smoke import START, STEP

TASKS = 4
ARTICLES, COMMENTS = "relational-articles", "relational-comments"
ARTICLES_WITH_COUNT, COMMENTS_WITH_ARTICLE = "relational-counted", "relational-placed"
_ARTICLES, _COMMENTS = 25, 300

Record = tuple[str, str, str | None, int]
"""Topic, key, value, timestamp. The value of a comment is the key of its article and a text."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No settings."""


def build(_: Nothing) -> Topology:
    t = Topology()
    articles, comments = t.table(ARTICLES, str, store="articles"), t.table(COMMENTS, str, store="comments")
    counts = comments.group_by(lambda _, comment: article_of(comment), str).count(store="comment-counts")
    counted = articles.left_join(counts, lambda article, count: f"{article}: {count or 0}", str)
    counted.to_stream().to(ARTICLES_WITH_COUNT)
    placed = comments.join_by_foreign_key(
        articles,
        lambda _, comment: article_of(comment),
        lambda comment, article: f"{comment} on {article}",
        str,
        store="placed",
    )
    placed.to_stream().to(COMMENTS_WITH_ARTICLE)
    return t


JOB = job(Nothing, build)


def article_of(comment: str) -> str:
    """Return the key of a comment's article."""
    return comment.partition(" ")[0]


def records(seed: int = 1) -> Iterator[Record]:
    """Yield endless changes of both tables: new rows, comments that move to another article, new texts, and deletes."""
    draw = random.Random(seed)
    at = START
    while True:
        at += STEP
        is_deleted = draw.random() < 0.1
        if draw.random() < 0.2:
            key = f"a{draw.randrange(_ARTICLES)}"
            yield ARTICLES, key, None if is_deleted else f"title {draw.randrange(1_000)}", at
        else:
            text = f"a{draw.randrange(_ARTICLES)} text {draw.randrange(1_000)}"
            yield COMMENTS, f"c{draw.randrange(_COMMENTS)}", None if is_deleted else text, at


def expected_rows(sent: Iterable[Record]) -> dict[str, dict[str, str]]:
    """Return the rows of both outputs after the last record."""
    rows: dict[str, dict[str, str]] = {ARTICLES: {}, COMMENTS: {}}
    for topic, key, value, _ in sent:
        if value is None:
            rows[topic].pop(key, None)
        else:
            rows[topic][key] = value
    articles, comments = rows[ARTICLES], rows[COMMENTS]
    counts = Counter(map(article_of, comments.values()))
    return {
        ARTICLES_WITH_COUNT: {key: f"{title}: {counts[key]}" for key, title in articles.items()},
        COMMENTS_WITH_ARTICLE: {
            key: f"{comment} on {articles[article_of(comment)]}"
            for key, comment in comments.items()
            if article_of(comment) in articles
        },
    }


def last_rows(outputs: Mapping[str, Iterable[tuple[str, str | None]]]) -> dict[str, dict[str, str]]:
    """Return the rows of both outputs, from their changes in order."""
    rows: dict[str, dict[str, str]] = {topic: {} for topic in (ARTICLES_WITH_COUNT, COMMENTS_WITH_ARTICLE)}
    for topic, changes in outputs.items():
        for key, value in changes:
            if value is None:
                rows[topic].pop(key, None)
            else:
                rows[topic][key] = value
    return rows
