"""The buttons of the live page: each calls a method of `Controls` that a program may call as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cmsapi.sandbox.controls import Controls
from cmsapi.sandbox.faults.rules import Fault
from cmsapi.sandbox.messages import bodies
from cmsapi.sandbox.messages.answers import JSON
from cmsapi.sandbox.messages.shapes import COUNT, FILLED, Schema, nullable, shape
from cmsapi.sandbox.world.refusal import Refusal

FAULTS: Mapping[str, Mapping[str, Any]] = {
    "503": {"status": 503},
    "500 after": {"status": 500, "when": "after"},
    "429": {"status": 429, "retry_after": 5},
    "drop before": {"drop": True},
    "drop after": {"drop": True, "when": "after"},
    "slow": {"slow": 5.0},
    "truncated": {"spoil": "truncated"},
    "null status": {"spoil": "null status"},
}


def _add_fault(controls: Controls, *, name: str, match: str, times: int | None) -> None:
    if name not in FAULTS:
        raise Refusal(422, f"name: must be one of {', '.join(FAULTS)}")
    if times is not None and times < 1:
        raise Refusal(422, "times: must be at least 1, or null for every request")
    controls.add_fault(Fault(match=match, times=times, **FAULTS[name]))


def _arguments(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return shape(required, optional=optional, additionalProperties=False)


_BALANCES = ("analysis", "ai_writing", "content_ideas_searches")
# The function of each button, and the schema of its arguments.
_BUTTONS: Mapping[str, tuple[Callable[..., object], Schema]] = {
    "finish": (Controls.finish, _arguments({"target_id": FILLED, "outcome": FILLED})),
    "confirm": (Controls.confirm_elsewhere, _arguments({"content_id": FILLED})),
    "cancel": (Controls.cancel_elsewhere, _arguments({"content_id": FILLED})),
    "credit": (Controls.set_credits, _arguments({}, dict.fromkeys(_BALANCES, COUNT))),
    "fault": (_add_fault, _arguments({"name": FILLED, "match": FILLED, "times": nullable(COUNT)})),
    "clear_faults": (Controls.clear_faults, _arguments({})),
}


def press(controls: Controls, name: str, body: bytes) -> None:
    """Run the action of a button.

    Args:
        controls: The controls of the service.
        name: Name of the button.
        body: Arguments of the action, as JSON.

    Raises:
        Refusal: The button does not exist, an argument is invalid, or the state does not allow the action.
    """
    if name not in _BUTTONS:
        raise Refusal(404, f"{name}: no such button")
    button, schema = _BUTTONS[name]
    arguments = bodies.parse(body, JSON)  # the guard has checked the type
    bodies.check(schema, arguments)
    try:
        button(controls, **arguments)
    except ValueError as error:
        raise Refusal(422, str(error)) from None
    except KeyError as error:
        raise Refusal(404, f"{error.args[0]}: no such target") from None
    except LookupError as error:
        raise Refusal(409, str(error)) from None
