"""A request is forwarded with the token of its caller, and only once."""

from __future__ import annotations

from tests.queries.parts.parted import Parted, get, keys_of, written_tasks

TOKEN = "a-token-of-enough-bytes"


def test_the_caller_s_token_is_forwarded_only_once() -> None:
    parts = Parted([task.replica for task in written_tasks()], token=TOKEN.encode())
    try:
        key = keys_of(1, 1)[0]
        target = f"{parts.urls[0]}/stores/plain/{key}"
        assert get(target)[0] == 401
        assert not parts.servers[1].asked
        assert get(target, {"Authorization": f"Bearer {TOKEN}"})[0] == 404
        (first,) = parts.servers[1].asked
        assert (first.path, first.authorization, first.forwarded) == (("part", "read"), f"Bearer {TOKEN}", "app 1/3")
        assert len(parts.servers[0].asked) == 2
        assert len(parts.servers[2].asked) == 1
        assert get(f"{parts.urls[1]}/part/read", {"Forebay-Forwarded": "app 1/3"}, b"")[0] == 401
        assert get(f"{parts.urls[1]}/part")[0] == 200
        sent = {"Forebay-Forwarded": "app 1/3", "Authorization": f"Bearer {TOKEN}"}
        assert get(f"{parts.urls[1]}/stores/plain", sent)[0] == 404
    finally:
        parts.close()
