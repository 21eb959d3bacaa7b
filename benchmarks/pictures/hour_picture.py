"""Draw the hour: results over time, and below it the minutes in which requests were accepted and refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

import attrs

from benchmarks.pictures.hour import HOUR, JOBS, Hour

_WIDTH, _HEIGHT = 600, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 68, 592, 62, 262
_STRIPS, _STRIP_HEIGHT = (300, 326), 18
_MINUTES = 60
_FONT = "-apple-system, BlinkMacSystemFont, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"


@attrs.frozen
class Colours:
    """Name the colours of a picture.

    Args:
        text: Titles and figures.
        note: Axes and second lines.
        line: Lines of the grid.
        good: The SDK, and accepted requests.
        bad: The polling loops, and refused requests.
    """

    text: str
    note: str
    line: str
    good: str
    bad: str


SCHEMES = {
    "light": Colours(text="#1f2328", note="#59636e", line="#d1d9e0", good="#0969da", bad="#cf222e"),
    "dark": Colours(text="#f0f6fc", note="#9198a1", line="#3d444d", good="#4493f8", bad="#f85149"),
}


def said(sdk: Hour, loops: Hour) -> str:
    """Say in words what the picture shows."""
    return (
        f"One hour of {JOBS} keyword analyses with one key. "
        f"cmsapi has all {len(sdk.results)} results after {_minutes(sdk)} minutes, with {sdk.requests:,} requests, "
        f"{_refused(sdk)} refused. "
        f"A polling loop for each job has {len(loops.results)} results after the hour, with {loops.requests:,} "
        f"requests, {_refused(loops)} refused."
    )


def drawn(sdk: Hour, loops: Hour, colours: Colours) -> str:
    """Draw both programs.

    Args:
        sdk: The hour with the SDK.
        loops: The hour with a polling loop for each job.
        colours: Those of light or dark pages.

    Returns:
        The text of an SVG file.
    """
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    text = f'font-family="{_FONT}" font-size="17" fill="{colours.text}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="said" {text}>',
        f'<title id="said">{escape(said(sdk, loops))}</title>',
        f'<text x="0" y="22" font-size="19" font-weight="600">{JOBS} keyword analyses, one key, one hour</text>',
        f'<text x="0" y="46" font-size="15" fill="{colours.note}">results</text>',
        *_grid(colours),
        _line(loops.results, colours.bad),
        _line(sdk.results, colours.good),
        *_label(140, 92, f"cmsapi: {len(sdk.results)} results in {_minutes(sdk)} minutes", sdk, colours.good, colours),
        *_label(140, 156, f"A polling loop a job: {len(loops.results)} results", loops, colours.bad, colours),
        *_strip("cmsapi", sdk, _STRIPS[0], colours),
        *_strip("loops", loops, _STRIPS[1], colours),
        *_legend(colours),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _minutes(hour: Hour) -> int:
    return round(max(hour.results) / 60)


def _refused(hour: Hour) -> str:
    return f"{len(hour.refused):,}" if hour.refused else "none"


def _x(seconds: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * seconds / HOUR


def _y(results: int) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * results / JOBS


def _grid(colours: Colours) -> Iterator[str]:
    for results in range(0, JOBS + 1, 100):
        yield f'<path d="M{_LEFT} {_y(results):.1f}H{_RIGHT}" stroke="{colours.line}"/>'
        yield _note(_LEFT - 8, _y(results) + 5, str(results), colours, "end")
    for minute in range(0, _MINUTES + 1, 10):
        name = f"{minute} min" if minute == _MINUTES else str(minute)
        yield _note(_x(60.0 * minute), _STRIPS[0] - 14, name, colours, "end" if minute == _MINUTES else "middle")


def _line(results: Sequence[float], colour: str) -> str:
    """Draw a step for each result, and go on until the hour ends."""
    steps = "".join(f"H{_x(at):.1f}V{_y(number):.1f}" for number, at in enumerate(sorted(results), start=1))
    path = f"M{_LEFT} {_BOTTOM}{steps}H{_RIGHT}"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="3.5" stroke-linejoin="round"/>'


def _label(x: int, y: int, title: str, hour: Hour, colour: str, colours: Colours) -> Iterator[str]:
    yield f'<text x="{x}" y="{y}" font-weight="600" fill="{colour}">{title}</text>'
    requests = f"{hour.requests:,} requests, {_refused(hour)} refused"
    yield f'<text x="{x}" y="{y + 22}" fill="{colours.note}">{requests}</text>'


def _strip(name: str, hour: Hour, y: int, colours: Colours) -> Iterator[str]:
    """Draw the minutes of an hour: whether requests were refused, or all were accepted, or there was none."""
    yield _note(_LEFT - 8, y + 14, name, colours, "end")
    size = f'width="{_RIGHT - _LEFT}" height="{_STRIP_HEIGHT}"'
    yield f'<rect x="{_LEFT}" y="{y}" {size} fill="{colours.line}" opacity=".45"/>'
    for colour, times in ((colours.good, hour.accepted), (colours.bad, hour.refused)):
        minutes = _in_minutes(times)
        for minute in sorted(minutes):
            # A minute with both is divided as its requests are.
            share = minutes[minute] / sum(_in_minutes(each).get(minute, 0) for each in (hour.accepted, hour.refused))
            width = _x(60.0) - _x(0.0)
            left = _x(60.0 * minute) + (0.0 if colour == colours.good else width * (1.0 - share))
            yield (
                f'<rect x="{left:.1f}" y="{y}" width="{max(0.8, width * share - 0.8):.1f}" height="{_STRIP_HEIGHT}" '
                f'fill="{colour}"/>'
            )


def _in_minutes(times: Iterable[float]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for at in times:
        minute = min(_MINUTES - 1, int(at // 60))
        counts[minute] = counts.get(minute, 0) + 1
    return counts


def _legend(colours: Colours) -> Iterator[str]:
    y = _STRIPS[1] + 42
    for x, colour, name in ((_LEFT, colours.good, "requests accepted"), (250, colours.bad, "requests refused (429)")):
        yield f'<rect x="{x}" y="{y - 12}" width="14" height="14" fill="{colour}"/>'
        yield _note(x + 20, y, name, colours, "start")
    yield _note(_LEFT, y + 26, "The service allows 1,000 requests an hour, 20 in a second.", colours, "start")


def _note(x: float, y: float, text: str, colours: Colours, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="15" fill="{colours.note}" text-anchor="{anchor}">{text}</text>'
