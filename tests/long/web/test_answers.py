"""Every error of the SDK has a status of HTTP."""

from __future__ import annotations

import pytest

import cmsapi
from tests.long.web.serving import problem

# Raised where a service is set up, or by calls that the examples do not make.
ELSEWHERE = {cmsapi.ConfigError, cmsapi.EditConflictError, cmsapi.JobError, cmsapi.LeaseLostError}


def classes() -> list[type[cmsapi.CMSError]]:
    """Return all classes of errors that users can name."""
    values = (getattr(cmsapi, name) for name in cmsapi.__all__)
    return [value for value in values if isinstance(value, type) and issubclass(value, cmsapi.CMSError)]


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_no_error_is_forgotten(kind: type[cmsapi.CMSError]) -> None:
    """A class that a handler may raise is a mistake of this service only where its key is refused."""
    error = kind.__new__(kind)
    error.args = ("What happened.\nWhat to do.",)
    error.__dict__.update(status=418, code="teapot", message="", operation=None, attempts=1, hint=None, request_id=None)
    error.__dict__.update(path="$", excerpt="")
    status, headers, document = problem(error)
    ours = kind is cmsapi.CMSError or any(issubclass(kind, each) for each in ELSEWHERE - {cmsapi.JobError})
    ended = issubclass(kind, cmsapi.JobError) and kind is not cmsapi.LaunchUnknownError
    refused = issubclass(kind, cmsapi.UnauthorizedError | cmsapi.ForbiddenError)
    assert (status == 500) == (ours or ended or refused)
    assert ("Retry-After" in headers) == (status in (429, 503))
    assert document["status"] == status
    assert "\n" not in document["detail"]


def test_what_may_have_been_paid_for_is_in_doubt() -> None:
    """A program that reads the document does not submit the work again by itself."""
    unknown = cmsapi.LaunchUnknownError("It may have been charged.", kind="idea_search", target="tents", evidence={})
    assert problem(unknown)[2]["in_doubt"] is True
    assert problem(cmsapi.OutOfCreditsError("None is left."))[2]["in_doubt"] is False


def test_a_wait_is_told_in_whole_seconds() -> None:
    """`Retry-After` is rounded up, so that nothing comes too early."""
    late = cmsapi.RateLimitWaitError("The hour is used up.", available_in=61.2)
    assert problem(late)[1] == {"Retry-After": "62"}
