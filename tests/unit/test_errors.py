"""The error tree: as drawn, picklable, copyable, and a builtin where one would be caught."""

from __future__ import annotations

import builtins
import copy
import pickle
import re
from typing import Any

import pytest

import cmsapi
from cmsapi import errors

WORD = re.compile(r"[A-Z]\w*Error(?:\((\w+)\))?")


def every_class() -> list[type[errors.CMSError]]:
    """Return all classes of the tree."""
    found: list[type[errors.CMSError]] = [errors.CMSError]
    for cls in found:
        found.extend(each for each in cls.__subclasses__() if each.__module__.startswith(errors.__name__))
    return found


def made(cls: type[errors.CMSError]) -> errors.CMSError:
    """Make an error with everything that it can hold."""
    details: dict[str, Any]
    if issubclass(cls, errors.APIError):
        details = {"status": 418, "code": "teapot", "message": "no", "operation": "brew", "retry_after": 3.5}
        details |= {"attempts": 2, "hint": "use a kettle", "request_id": "req_1", "in_doubt": False}
        details |= {"response": cmsapi.Response(418, {"X-Request-Id": "req_1"}, b"no")}
        details |= {"field": "cup"} if issubclass(cls, errors.ValidationError) else {}
        return cls(**details)
    if issubclass(cls, errors.JobError):
        details = {"job": object(), "token": "job_token", "status": "running"}
        if issubclass(cls, errors.LaunchUnknownError):
            details |= {"kind": "analysis", "target": "kw_1", "evidence": {"said": "nothing"}}
    elif issubclass(cls, errors.TransportError):
        details = {"operation": "brew", "attempts": 2}
        unread = {"path": "$.cup", "excerpt": "7", "request_id": "req_1"}
        details |= unread if issubclass(cls, errors.DecodeError) else {}
    else:
        others: dict[type[errors.CMSError], dict[str, Any]] = {
            errors.ArgumentError: {"parameter": "cup"},
            errors.RateLimitWaitError: {"available_in": 3.5},
            errors.DeadlineError: {"operation": "brew", "attempts": 2, "sent": True},
            errors.EditConflictError: {"base": "old", "current": "new"},
        }
        details = others.get(cls, {})
    return cls("what happened", **details)


CLASSES = every_class()


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("way", ["pickle", "copy", "deepcopy", "fresh"])
def test_errors_survive(cls: type[errors.CMSError], way: str) -> None:
    """Each class comes back from pickle and copy with all it held, notes too, apart from what is alive."""
    error = made(cls)
    error.add_note("seen twice")
    if way in ("pickle", "deepcopy"):
        expected = {name: value for name, value in error.__dict__.items() if name != "job"}
    else:
        expected = dict(error.__dict__)
    ways: dict[str, Any] = {
        "pickle": lambda: pickle.loads(pickle.dumps(error)),  # noqa: S301
        "copy": lambda: copy.copy(error),
        "deepcopy": lambda: copy.deepcopy(error),
        "fresh": error.fresh,
    }
    twin = ways[way]()
    assert type(twin) is cls
    assert (str(twin), twin.args) == (str(error), error.args)
    assert expected == {name: value for name, value in twin.__dict__.items() if name in expected}
    if isinstance(error, errors.JobError) and isinstance(twin, errors.JobError):
        assert (twin.job is error.job) == (way in ("copy", "fresh"))
    twin.add_note("only here")
    assert error.__notes__ == ["seen twice"]


def test_a_fresh_error_has_its_cause_and_no_traceback() -> None:
    """Each of many waiters raises an error of its own, with the common cause."""
    cause = OSError("down")

    def fail() -> None:
        raise errors.NotSentError("no") from cause

    with pytest.raises(errors.NotSentError) as caught:
        fail()
    twin = caught.value.fresh()
    assert (twin.__cause__, twin.__traceback__) == (cause, None)
    assert caught.value.__traceback__ is not None


def test_the_drawn_tree_is_the_real_tree() -> None:
    """The drawing in the module's docstring shows each class once, under its parent, with the builtin it is."""
    drawn: dict[str, str | None] = {}
    builtin_of: dict[str, str] = {}
    branch: list[str] = []
    assert errors.__doc__ is not None
    for line in errors.__doc__.split("::")[1].splitlines():
        if not (names := list(WORD.finditer(line))):
            continue
        first = names[0][0].partition("(")[0]
        depth = names[0].start() // 3 - 1
        parent = None
        branch = branch[:depth]
        for name in names:
            word = name[0].partition("(")[0]
            # Classes beside the first of a line are its siblings, unless they are named after a bare parent.
            parent = branch[-1] if branch else None
            drawn[word] = parent
            if name[1]:
                builtin_of[word] = name[1]
        branch.append(first)
        if first == "ServerError":
            drawn |= dict.fromkeys((name[0] for name in names[1:]), "ServerError")
    real = {cls.__name__: cls.__bases__[0].__name__ for cls in CLASSES}
    assert drawn | {"CMSError": "Exception"} == real
    real_builtins = {
        cls.__name__: base.__name__
        for cls in CLASSES[1:]
        for base in cls.__bases__
        if getattr(builtins, base.__name__, None) is base
    }
    assert builtin_of == real_builtins


def test_messages_say_what_happened_and_what_to_do() -> None:
    """An API error shows status, code, operation, attempts, the service's words, an advice and the hint."""
    lines = str(made(errors.ConflictError)).splitlines()
    assert lines[0] == "418 teapot from brew after 2 attempts: no"
    assert lines[1].startswith("The request conflicts with the present state")
    assert lines[2:] == ["use a kettle", "Request id: req_1"]
    assert str(errors.APIError(status=499)).startswith("499 without an error code\n")
    decode = made(errors.DecodeError)
    assert str(decode) == "what happened at $.cup in the answer to brew, found 7\nRequest id: req_1"
    assert str(errors.DecodeError("what happened")) == "what happened at $"
