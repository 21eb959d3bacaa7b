"""Errors travel between processes and are what their builtin base classes promise."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import pytest

from cmsapi import errors

EXTRA = {"status": 404, "code": "c", "retry_after": 1.5, "sent": True, "attempts": 2, "reason": "r", "target": "t"}
REQUIRED = {
    errors.APIError: ("status",), errors.RateLimitWaitError: ("retry_after",), errors.DeadlineError: ("sent",),
    errors.EditConflictError: ("attempts",), errors.UnclearJobError: ("reason",),
    errors.LaunchUnknownError: ("target", "attempts"),
}  # fmt: skip


def classes(base: type[errors.CMSError] = errors.CMSError) -> Iterator[type[errors.CMSError]]:
    """Yield all classes of cmsapi's errors."""
    yield base
    for each in base.__subclasses__():
        yield from classes(each)


def make(cls: type[errors.CMSError]) -> errors.CMSError:
    """Return an error of a class."""
    if issubclass(cls, errors.ArgumentError):
        return cls("title", "is too long")
    names = next((names for base, names in REQUIRED.items() if issubclass(cls, base)), ())
    return cls("what happened", **{name: EXTRA[name] for name in names})


@pytest.mark.parametrize("cls", sorted(set(classes()), key=str))
def test_an_error_survives_pickling_and_copying(cls: type[errors.CMSError]) -> None:
    """Class, text and attributes are the same afterwards."""
    error = make(cls)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301
        assert type(other) is cls
        assert (str(other), other.args, vars(other)) == (str(error), error.args, vars(error))


@pytest.mark.parametrize(
    ("cls", "base"),
    [
        (errors.ConfigError, ValueError), (errors.ArgumentError, ValueError), (errors.TransportError, OSError),
        (errors.DeadlineError, TimeoutError), (errors.JobWaitTimeoutError, TimeoutError),
    ],
)  # fmt: skip
def test_builtin_handlers_catch_errors(cls: type[errors.CMSError], base: type[Exception]) -> None:
    """Code that catches the builtin error catches cmsapi's."""
    with pytest.raises(base):
        raise make(cls)
