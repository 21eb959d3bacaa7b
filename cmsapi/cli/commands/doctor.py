"""`cmsapi doctor`."""

from __future__ import annotations

import asyncio
import textwrap
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

import cmsapi
from cmsapi.cli.support.connecting import connect
from cmsapi.cli.terminal.advice import for_shell
from cmsapi.cli.terminal.exit_codes import Exit
from cmsapi.cli.terminal.output import AsJson, print_json, print_message, printable
from cmsapi.display.values import plain

_MARKS = {
    cmsapi.Verdict.OK: "ok",
    cmsapi.Verdict.WARNING: "warn",
    cmsapi.Verdict.PROBLEM: "FAIL",
    cmsapi.Verdict.UNKNOWN: "?",
}
# Seconds that a request may take without a word.
_QUIET = 2.0


# All checks; `--json` has each of them, also where there was nothing to examine.
_NAMES = (
    "configuration",
    "connection",
    "key",
    "permissions",
    "balances",
    "operations",
    "clock",
    "latency",
    "limits",
    "drift",
    "words",
)


async def doctor(
    *, strict: Annotated[bool, Parameter(negative="", show_default=False)] = False, as_json: AsJson = False
) -> int:
    """Check the connection to the service; at most four requests, no credit.

    The checks cover key, permissions, balances, routes, clock, latency, limits and differences from the specification.
    The exit code is 0 without a problem, 1 with one, and 2 if the key or the address is missing.

    Args:
        strict: Exit with 3 if there are warnings and no problem.
    """
    try:
        async with connect() as client:
            diagnosis = await client.with_options(hooks=[_tell_slow()]).doctor()
    except cmsapi.ConfigError as error:
        if as_json:
            print_json(_document(None, str(error)))
        raise
    if as_json:
        print_json(_document(diagnosis))
    else:
        _print_diagnosis(diagnosis)
    if not diagnosis.ok:
        return Exit.FAILED
    warns = any(check.verdict is cmsapi.Verdict.WARNING for check in diagnosis.checks)
    return Exit.PARTLY if strict and warns else Exit.DONE


def _tell_slow() -> cmsapi.Hook:
    """Make a hook that says on standard error which request is waited for, once that takes seconds."""
    telling: asyncio.TimerHandle | None = None

    def tell(event: cmsapi.Event) -> None:
        nonlocal telling
        if isinstance(event, cmsapi.CallStarted):
            text = f"Waiting for {event.method} {event.path} of {event.base_url} …"
            telling = asyncio.get_running_loop().call_later(_QUIET, print_message, text)
        elif isinstance(event, cmsapi.CallFinished) and telling is not None:
            telling.cancel()

    return tell


def _print_diagnosis(diagnosis: cmsapi.Diagnosis) -> None:
    width = max(40, min(100, Console().width))
    for check in diagnosis.checks:
        head = f"{_MARKS[check.verdict]:<6}{check.name:<13}"
        indent = " " * len(head)
        for begin, text in ((head, check.found), (indent, check.advice)):
            if text:
                print(textwrap.fill(printable(for_shell(text)), width, initial_indent=begin, subsequent_indent=indent))
    unlisted = [route for route in diagnosis.routes if not route.listed]
    if unlisted:
        print("\nroutes missing from the service's description")
    for route in unlisted:
        print(f"  {route.name}  {route.route}  ({route.provenance.name.lower()})")
        for candidate in route.candidates:
            print(f"      perhaps {printable(candidate.route)}  ({candidate.similarity:.0%} similar)")
    if diagnosis.drift:
        print("\ndifferences from the specification")
    for each in diagnosis.drift:
        example = f": {printable(each.example)}" if each.example else ""
        print(f"  {each.count:>5} x {printable(each.where)}: {each.kind.value}{example}")


def _document(diagnosis: cmsapi.Diagnosis | None, error: str = "") -> dict[str, Any]:
    """Return the findings with the same keys, whatever was found.

    Args:
        diagnosis: The findings; None if there is no client to examine.
        error: Why there is none.
    """
    checks = diagnosis.checks if diagnosis else (cmsapi.Check("configuration", cmsapi.Verdict.PROBLEM, error),)
    verdicts = dict.fromkeys(_NAMES, cmsapi.Verdict.UNKNOWN)
    if diagnosis:
        verdicts |= {"configuration": cmsapi.Verdict.OK, "connection": cmsapi.Verdict.OK}
    verdicts |= {check.name: check.verdict for check in checks}
    worst = [each for each in (cmsapi.Verdict.PROBLEM, cmsapi.Verdict.WARNING) if each in verdicts.values()]
    limit = diagnosis.rate_limit if diagnosis else None
    user = diagnosis.user if diagnosis else None
    return {
        "status": (worst or [cmsapi.Verdict.OK])[0].value,
        "ok": diagnosis is not None and diagnosis.ok,
        "verdicts": {name: verdict.value for name, verdict in verdicts.items()},
        "checks": [
            plain(check) | {"found": for_shell(check.found), "advice": for_shell(check.advice)} for check in checks
        ],
        "balances": cmsapi.to_dict(user.organization.credits) if user else None,
        "latency": diagnosis.latency if diagnosis else None,
        "clockOffset": diagnosis.clock_offset if diagnosis else None,
        "requestLimit": limit.limit if limit else None,
        "requestsLeft": limit.remaining if limit else None,
        "pausedFor": limit.paused_for if limit else None,
        "othersUse": limit.foreign if limit else None,
        "routes": [
            plain(route)
            | {
                "provenance": route.provenance.name.lower(),
                "candidates": [candidate.route for candidate in route.candidates],
                "adopt": route.adopted,
            }
            for route in (diagnosis.routes if diagnosis else ())
        ],
        "drift": [plain(each) for each in (diagnosis.drift if diagnosis else ())],
    }
