"""Query servers that can't work together as parts are refused at the start with a message of one line."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from forebay.cli.queries import queries
from forebay.http.messages import Answer
from forebay.queries.parts.share import Share, WrongParts, share_of
from tests.queries.parts.parted import PARTS, Parted, PartServer, get, keys_of
from tests.queries.written import CODECS, LOG

URLS = "http://a:1,http://b:1,http://c:1"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--part", "3/3", "--peers", URLS), "3/3: of 3 parts the first is 0 and the last 2"),
        (("--part", "0/0", "--peers", URLS), "0/0: of 0 parts"),
        (("--part", "one", "--peers", URLS), "one: write PART/PARTS"),
        (("--part", "0/2", "--peers", URLS), "3 addresses for 2 parts"),
        (("--part", "0/3"), "0 addresses for 3 parts"),
        (("--part", "0/3", "--peers", "http://a:1,http://b:1,http://a:1"), "http://a:1 is listed twice"),
        (("--part", "0/3", "--peers", "http://a:1,b:1,http://c:1"), "b:1: write http://HOST:PORT"),
        (("--peers", URLS), "--peers needs --part PART/PARTS"),
    ],
)
def test_options_that_don_t_fit_are_refused(options: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(queries, ["user-sessions", *options])
    assert result.exit_code == 2
    assert said in " ".join(result.output.replace("│", " ").split())


def test_a_pod_s_name_gives_the_part() -> None:
    assert share_of("shop-user-sessions-queries-of-12-7/12") == Share(7, 12)
    assert share_of("7/12") == Share(7, 12)


def test_more_parts_than_tasks_are_refused() -> None:
    assert list(Share(1, 3).tasks(5)) == [1, 4]
    with pytest.raises(WrongParts, match="the job has 2 tasks: part 2/3 would hold none"):
        Share(2, 3).tasks(2)


@pytest.mark.parametrize(
    ("share", "application", "order", "said"),
    [
        (Share(0, PARTS), "app", (0, 2, 1), r"is part 2/3 of svc \(application app\): part 1/3 .* is expected"),
        (Share(0, 2), "app", (0, 1), r"is part 1/3 of svc \(application app\): part 1/2 "),
        (Share(0, PARTS), "other", (0, 1, 2), r"is part 1/3 of svc \(application app\): part 1/3 .*application other"),
    ],
)
def test_another_part_or_job_in_a_peer_s_place_is_refused(
    parts: Parted, share: Share, application: str, order: tuple[int, ...], said: str
) -> None:
    urls = [parts.urls[number] for number in order]
    replicas = [task.replica for task in parts.tasks]
    server = PartServer(share, urls, LOG, CODECS, replicas, application=application)
    with pytest.raises(WrongParts, match=said):
        server.part.check()
    server.part.close()


def test_a_full_replica_in_a_peer_s_place_is_refused(parts: Parted) -> None:
    parts.handlers[1] = lambda _: Answer(404, "application/json", b'{"error": "try /stores"}')
    with pytest.raises(WrongParts, match=r"is not a query server of parts .*404"):
        parts.servers[0].part.check()


def test_the_start_waits_for_peers_that_don_t_answer_yet(parts: Parted) -> None:
    parts.lose(1)
    parts.servers[0].part.check()


def test_a_server_that_replaces_a_part_later_answers_nothing(parts: Parted) -> None:
    parts.handlers[1] = parts.servers[2].answer
    status, body, _ = get(f"{parts.urls[0]}/stores/plain/{keys_of(1, 1)[0]}")
    assert (status, body["missing"]) == (503, [1])
    assert "HTTP 421: this is part 2/3" in body["error"]
