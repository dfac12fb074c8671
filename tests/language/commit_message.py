"""Check commit messages: `python -m tests.language.commit_message FILE`, or `--range A..B` for the commits of a branch.

A subject has at most 72 characters, is imperative and has no full stop. An empty line separates it from the body.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LONGEST = 72
_WRITTEN_BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
_NO_VERB = re.compile(
    r"an?|all|and|any|both|but|by|docs|each|every|for|from|how|if|in|its?|no|not|of|on|one|only|other|some|tests|that|the|"
    r"their|these|this|to|two|what|when|where|which|who|why|with|without"
)
_VERB = re.compile(
    r"\w+ss|alias|bias|canvas|focus|bring|ping|spring|string|swing|embed|exceed|feed|need|proceed|seed|shed|speed|succeed"
)
_INFLECTED = re.compile(r"\w+(ed|ing|s)")


def mistakes(message: str) -> list[str]:
    """Return the mistakes in a commit message."""
    lines = [line for line in message.splitlines() if not line.startswith("#")]
    subject, rest = (lines[0], lines[1:]) if lines else ("", [])
    if subject.startswith(_WRITTEN_BY_GIT):
        return []
    found = [*_mistakes_of_subject(subject)]
    if rest and rest[0].strip():
        found.append("the second line is not empty: separate the subject from the body")
    return found


def _mistakes_of_subject(subject: str) -> Iterator[str]:
    if len(subject) > LONGEST:
        yield f"the subject has {len(subject)} characters: write at most {LONGEST}"
    if subject.endswith("."):
        yield "the subject ends with a full stop: omit it"
    word = re.match(r"[A-Za-z]*", subject)
    first = word[0] if word else ""
    if not first or not first[0].isupper():
        yield "the subject does not begin with a capital letter: begin with a verb, such as Fix or Add"
    elif subject[len(first) :].startswith(":") or _is_no_imperative(first.lower()):
        yield f"{first!r} is not imperative: begin with a verb, such as Fix or Add"


def _is_no_imperative(word: str) -> bool:
    if _VERB.fullmatch(word):
        return False
    return bool(_NO_VERB.fullmatch(word) or _INFLECTED.fullmatch(word))


def _messages(arguments: list[str]) -> Iterator[tuple[str, str]]:
    if arguments[:1] == ["--range"]:
        git = ["git", "log", "--no-merges", "--format=%h%x00%B%x01", *arguments[1:]]
        log = subprocess.run(git, capture_output=True, text=True, check=True).stdout
        for entry in filter(str.strip, log.split("\x01")):
            name, _, message = entry.strip().partition("\x00")
            yield name, message
    else:
        for file in arguments:
            yield file, Path(file).read_text(encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Print the mistakes. Return the exit code, which is 1 if there are any."""
    found = [f"{name}: {mistake}" for name, message in _messages(arguments) for mistake in mistakes(message)]
    print(*found, sep="\n", file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
