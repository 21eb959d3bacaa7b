"""Draw a recording of a terminal as one SVG that moves, and stands still for readers who want no motion."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from benchmarks.pictures.terminal import Frame, Line, Recorder, Run

_CHARACTER, _LINE, _FONT_SIZE = 8.4, 19, 14
_MARGIN, _BAR = 16, 34
# Between two frames, so that no glyph of the next one reaches into the window.
_GAP = 40
# Seconds that the last frame stays.
_HOLD = 4.0
_FONT = "ui-monospace, SFMono-Regular, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
_BACKGROUND, _EDGE, _TEXT, _TITLE = "#0d1117", "#3d444d", "#e6edf3", "#9198a1"
_COLOURS = {
    "default": _TEXT,
    "red": "#ff7b72",
    "green": "#3fb950",
    "brown": "#d29922",
    "blue": "#58a6ff",
    "magenta": "#d2a8ff",
    "cyan": "#39c5cf",
    "brightblack": "#8b949e",
}


def moving(recorder: Recorder, title: str, *, speed: float, still: float) -> str:
    """Draw what a recorder has kept.

    Args:
        recorder: The recorder.
        title: What the picture shows, for readers who do not see it.
        speed: How many times as fast it is shown.
        still: Which frame is shown without motion, as a share of the time.

    Returns:
        The text of an SVG file.
    """
    frames = recorder.frames
    width, height = recorder.columns * _CHARACTER, recorder.rows * _LINE
    whole_width, whole_height = width + 2 * _MARGIN, height + _BAR + _MARGIN
    names = {line: f"l{number}" for number, line in enumerate({line: None for frame in frames for line in frame.lines})}
    still_at = max(place for place, frame in enumerate(frames) if frame.at <= still * frames[-1].at)
    size = f'viewBox="0 0 {whole_width:.0f} {whole_height:.0f}" width="{whole_width:.0f}" height="{whole_height:.0f}"'
    font = f'font-family="{_FONT}" font-size="{_FONT_SIZE}"'
    window = f'width="{whole_width - 1:.0f}" height="{whole_height - 1:.0f}" rx="8"'
    told = f'x="{whole_width - _MARGIN:.0f}" y="22" font-size="12" text-anchor="end" fill="{_TITLE}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-labelledby="said" {font}>',
        f'<title id="said">{escape(title)}</title>',
        _style(frames, width + _GAP, speed, still_at),
        f"<defs>{''.join(_line(line, name) for line, name in names.items())}</defs>",
        f'<rect x=".5" y=".5" {window} fill="{_BACKGROUND}" stroke="{_EDGE}"/>',
        *(f'<circle cx="{20 + 18 * place}" cy="18" r="5.5" fill="{_EDGE}"/>' for place in range(3)),
        f"<text {told}>{speed:g} times as fast</text>",
        f'<svg x="{_MARGIN}" y="{_BAR}" width="{width:.0f}" height="{height}" overflow="hidden">',
        f'<g class="film" transform="translate({-still_at * (width + _GAP):.0f} 0)">',
        *(_frame(frame, place * (width + _GAP), names) for place, frame in enumerate(frames)),
        "</g></svg></svg>",
    ]
    return "\n".join(parts) + "\n"


def _style(frames: Sequence[Frame], width: float, speed: float, still_at: int) -> str:
    seconds = frames[-1].at / speed + _HOLD
    steps = "".join(
        f"{100 * frame.at / speed / seconds:.2f}%{{transform:translateX({-place * width:.0f}px)}}"
        for place, frame in enumerate(frames)
    )
    last = f"100%{{transform:translateX({-(len(frames) - 1) * width:.0f}px)}}"
    still = f".film{{transform:translateX({-still_at * width:.0f}px)}}"
    motion = f".film{{animation:film {seconds:.1f}s steps(1,end) infinite}}"
    return (
        f"<style>{still}@media (prefers-reduced-motion: no-preference){{{motion}}}"
        f"@keyframes film{{{steps}{last}}}</style>"
    )


def _line(line: Line, name: str) -> str:
    return f'<g id="{name}">{"".join(map(_run, line))}</g>'


def _run(run: Run) -> str:
    colour = _COLOURS.get(run.colour, f"#{run.colour}")
    bold = ' font-weight="700"' if run.bold else ""
    # A length, because fonts differ in the width of a character.
    length = f'textLength="{len(run.text) * _CHARACTER:.1f}" lengthAdjust="spacingAndGlyphs"'
    text = escape(run.text).replace(" ", "\N{NO-BREAK SPACE}")
    return f'<text x="{run.column * _CHARACTER:.1f}" {length} fill="{colour}"{bold}>{text}</text>'


def _frame(frame: Frame, left: float, names: dict[Line, str]) -> str:
    lines = (
        f'<use href="#{names[line]}" y="{(row + 0.75) * _LINE:.1f}"/>' for row, line in enumerate(frame.lines) if line
    )
    return f'<g transform="translate({left:.0f} 0)">{"".join(lines)}</g>'
