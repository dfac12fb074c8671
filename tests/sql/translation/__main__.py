"""`python -m tests.sql.translation FOLDER [--queries] [--failures]`."""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.sql.translation.asking import failure_of_question, questions_of
from tests.sql.translation.cases import Case, cases_of
from tests.sql.translation.running import failure_of

_NAMES = re.compile(r"[A-Z_0-9]{2,}|'[^']*'|\d+")


def main() -> None:
    """Run the cases of a folder. Print how many pass by file, and the reasons of failures by frequency."""
    parser = argparse.ArgumentParser(prog="python -m tests.sql.translation")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--failures", action="store_true", help="print each case that fails")
    parser.add_argument("--queries", action="store_true", help="the folder has cases of pull and push queries")
    parser.add_argument("--only", default="", help="run cases whose file or name contains this text")
    options = parser.parse_args()
    passed: Counter[str] = Counter()
    number: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for case, judge in _cases(options.folder, queries=options.queries):
        if options.only not in f"{case.file} {case.name}":
            continue
        failure = judge()
        number[case.file] += 1
        passed[case.file] += not failure
        if failure:
            reasons[_NAMES.sub("_", failure)[:90]] += 1
            if options.failures:
                print(f"{case.file} | {case.name} | {failure}")
    for file in sorted(number):
        if passed[file] < number[file]:
            print(f"{passed[file]:5} of {number[file]:5}  {file}")
    print(f"{passed.total():5} of {number.total():5}  in all {len(number)} files")
    for reason, count in reasons.most_common(40):
        print(f"{count:5}  {reason}")


def _cases(folder: Path, *, queries: bool) -> Iterator[tuple[Case, Callable[[], str]]]:
    """Yield cases, each with a function that returns why it fails, or "" if it passes."""
    if queries:
        yield from ((question.case, partial(failure_of_question, question)) for question in questions_of(folder))
    else:
        yield from ((case, partial(failure_of, case)) for case in cases_of(folder))


if __name__ == "__main__":
    main()
