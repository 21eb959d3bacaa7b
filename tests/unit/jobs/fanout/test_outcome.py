"""The two kinds of outcomes: what each has, and how each is shown, copied and told apart."""

from __future__ import annotations

import copy
import pickle

import pytest

import cmsapi
from tests.support.jobs import box, client_of


@pytest.mark.looptime
async def test_outcomes_are_matched_by_their_classes() -> None:
    """A result comes as `Succeeded` and an error as `Failed`; `ok` and the missing half say the same."""
    sandbox = box(30.0)
    items = sandbox.keyword_ids[:2]
    sandbox.set_outcome(items[1], "failed")
    told = {}
    async with client_of(sandbox) as client:
        async for outcome in client.jobs.map(client.keywords.analyze, items):
            match outcome:
                case cmsapi.Succeeded(item, job, keyword):
                    assert (outcome.ok, outcome.error, outcome.result()) == (True, None, keyword)
                    assert job.result() == keyword
                    told[item] = keyword.id
                case cmsapi.Failed(item, _, error):
                    assert (outcome.ok, outcome.value) == (False, None)
                    with pytest.raises(cmsapi.JobFailedError):
                        outcome.result()
                    told[item] = type(error).__name__
            assert items[0] in repr(outcome) or items[1] in repr(outcome)
            assert "<table>" in outcome._repr_html_()
    assert told == {items[0]: items[0], items[1]: "JobFailedError"}


def test_an_outcome_without_a_job_is_copied_whole() -> None:
    """What was not launched goes through pickle and copies, and keeps its kind."""
    failed: cmsapi.Failed[str, int] = cmsapi.Failed("kwd_1", None, cmsapi.OutOfCreditsError("No credits are left."))
    for twin in (copy.copy(failed), pickle.loads(pickle.dumps(failed))):  # noqa: S301  its own pickle
        assert (twin.item, twin.ok, twin.value, twin.earlier) == ("kwd_1", False, None, False)
        assert (type(twin.error), str(twin.error)) == (cmsapi.OutOfCreditsError, "No credits are left.")
    assert repr(failed).startswith("Failed(item='kwd_1', job=None, error=OutOfCreditsError(")
