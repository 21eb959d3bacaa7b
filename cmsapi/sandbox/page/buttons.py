"""The buttons of the live page: each calls a method of `Controls` that a program may call as well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cmsapi.sandbox.faults.rules import Fault
from cmsapi.sandbox.messages import bodies
from cmsapi.sandbox.messages.answers import JSON
from cmsapi.sandbox.messages.shapes import BOOLEAN, COUNT, FILLED, Schema, nullable, shape
from cmsapi.sandbox.world.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cmsapi.sandbox.controls import Controls

Button = tuple["Callable[[Controls, dict[str, Any]], object]", Schema]

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


def finish(controls: Controls, body: dict[str, Any]) -> None:
    """End a running job."""
    controls.finish(body["target_id"], "failed" if body["failed"] else "success")


def decide(controls: Controls, body: dict[str, Any]) -> None:
    """Confirm or cancel the generation in review, as a colleague."""
    decision = controls.confirm_elsewhere if body["confirm"] else controls.cancel_elsewhere
    decision(body["target_id"])


def credit(controls: Controls, body: dict[str, Any]) -> None:
    """Set credit balances."""
    controls.set_credits(**body)


def fault(controls: Controls, body: dict[str, Any]) -> None:
    """Add a fault."""
    name = body["name"]
    if name not in FAULTS:
        raise Refusal(422, f"name: must be one of {', '.join(FAULTS)}")
    if body["times"] is not None and body["times"] < 1:
        raise Refusal(422, "times: must be at least 1, or null for every request")
    controls.add_fault(Fault(match=body["match"], times=body["times"], **FAULTS[name]))


def clear_faults(controls: Controls, body: dict[str, Any]) -> None:
    """Remove all faults."""
    controls.clear_faults()


def _body(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return shape(required, optional=optional, additionalProperties=False)


_BUTTONS: Mapping[str, Button] = {
    "finish": (finish, _body({"target_id": FILLED, "failed": BOOLEAN})),
    "decide": (decide, _body({"target_id": FILLED, "confirm": BOOLEAN})),
    "credit": (credit, _body({}, dict.fromkeys(("analysis", "ai_writing", "content_ideas_searches"), COUNT))),
    "fault": (fault, _body({"name": FILLED, "match": FILLED, "times": nullable(COUNT)})),
    "clear_faults": (clear_faults, _body({})),
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
    value = bodies.parse(body, JSON)  # the guard has checked the type
    bodies.check(schema, value)
    try:
        button(controls, value)
    except ValueError as error:
        raise Refusal(422, str(error)) from None
    except KeyError as error:
        raise Refusal(404, f"{error.args[0]}: no such target") from None
    except LookupError as error:
        raise Refusal(409, str(error)) from None
