"""A driver can read the lease results of executors of a newer release."""

from __future__ import annotations

import json

from forebay.runtime.protocol.lease_result import LeaseResult


def test_a_result_is_read_as_it_was_written() -> None:
    result = LeaseResult(7, is_cut_short=True, reports=["{}"])
    assert LeaseResult.from_json(result.to_json()) == result


def test_fields_of_a_newer_release_are_ignored() -> None:
    newer = json.loads(LeaseResult(7).to_json()) | {"added": 1}
    assert LeaseResult.from_json(json.dumps(newer)).planned_at == 7
