"""Draw what all processes of a state do, as a page of a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap

from rich.cells import cell_len, set_cell_size
from rich.console import Group
from rich.text import Text

import cmsapi
from cmsapi.cli.terminal.totals import elapsed, fitting
from cmsapi.display.markup import plain
from cmsapi.jobs.fanout.forecast import counted

# A wider page has longer bars and names.
_WIDE = 120
# Rows of each list on a page whose height is not bounded.
_ROWS = 10
_STYLES = {"running": "cyan", "done": "green", "stopped": "yellow"}


def batch_state(batch: cmsapi.BatchStatus) -> str:
    """Return the state of a batch in one word."""
    return "done" if batch.done else "running" if batch.active else "stopped"


def shortened(name: str, width: int) -> str:
    """Return the name of a batch as a line of a width has room for it."""
    return _cell(name, _name_width(width, [name])).rstrip()


def page(overview: cmsapi.Overview, state: str, width: int, height: int | None = None) -> Group:
    """Draw an overview.

    Args:
        overview: What was read.
        state: The name of the state.
        width: The most characters of a line.
        height: The most lines; None for as many as there are, but for the rest of long lists.
    """
    lists = [
        _batches(overview, width) if overview.batches else [],
        _running(overview, width) if overview.running or overview.launching else [],
        _launches("unknown launches, which may have been charged", overview.unknown, overview, "red"),
        _launches("articles that wait for a decision: cmsapi jobs reviews", overview.reviews, overview, "magenta"),
    ]
    warnings = [wrap(f"! {warning}", width, subsequent_indent="  ") for warning in overview.warnings]
    head = [*_head(overview, state, width), *(Text(line, "yellow") for lines in warnings for line in lines)]
    shown = [each for each in lists if each]
    if not shown:
        head += [Text(), Text("no batches, no running jobs", "dim")]
    # Each list has an empty line above it.
    room = None if height is None else height - len(head) - 2 * len(shown)
    lines = [*head]
    for place, each in enumerate(shown):
        rows = _ROWS if room is None else max(1, room // (len(shown) - place))
        taken = _cut(each, rows)
        room = None if room is None else room - len(taken) + 1
        lines += [Text(), *taken]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
        line.no_wrap = True
    return Group(*lines)


def _cut(lines: Sequence[Text], rows: int) -> list[Text]:
    """Return a title and at most `rows` rows, the last of which says how many more there are."""
    title, *rest = lines
    if len(rest) <= rows:
        return [title, *rest]
    return [title, *rest[: rows - 1], Text(f"… and {len(rest) - rows + 1:,} more", "dim")]


def _head(overview: cmsapi.Overview, state: str, width: int) -> list[Text]:
    use, bar = overview.use, _bar_width(width)
    title, time = f"cmsapi top  {plain(state)}", f"{overview.at.astimezone():%H:%M:%S}"
    foreign = f", {use.foreign:,} of them by other programs" if use.foreign else ""
    pids = ", ".join(map(str, overview.processes))
    works = "process works" if len(overview.processes) == 1 else "processes work"
    alive = f"{len(overview.processes):,} other {works} on jobs: {pids}" if pids else "no other process works on jobs"
    hour, by = _used("hour", use.hour, use.per_hour, f" requests{foreign}", bar), _by(use.processes)
    fits = hour.cell_len + len(f"; {by}") <= width
    return [
        Text(set_cell_size(title, max(0, width - len(time) - 1)) + " " + time, "bold"),
        hour.append(f"; {by}" if by and fits else ""),
        *([] if fits else [Text(f"        {by}")]),
        _used("second", use.second, use.per_second, " requests", bar),
        Text(f"alive   {alive}"),
    ]


def _used(name: str, used: int, limit: float, more: str, bar: int) -> Text:
    if limit == math.inf:
        return Text(f"{name:<8}{used:,}{more}, no limit")
    share = used / max(1.0, limit)
    style = "red" if share >= 0.9 else "yellow" if share >= 0.7 else "cyan"
    line = Text(f"{name:<8}")
    line.append(_bar(share, bar), style)
    return line.append(f" {used:,} of {limit:,.0f}{more}")


def _by(processes: Mapping[str, int]) -> str:
    most = sorted(processes.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{count:,} by {plain(name.partition('-')[0])[:8]}" for name, count in most)


def _batches(overview: cmsapi.Overview, width: int) -> list[Text]:
    states = [batch_state(batch) for batch in overview.batches]
    found = [f"{states.count(state):,} {state}" for state in _STYLES if state in states]
    # What runs is read first, then what has stopped.
    order = {"running": 0, "stopped": 1, "done": 2}
    batches = sorted(overview.batches, key=lambda batch: order[batch_state(batch)])
    names = _name_width(width, (batch.name for batch in batches))
    return [_title("batches", ", ".join(found)), *(_batch(batch, names, width) for batch in batches)]


def _batch(batch: cmsapi.BatchStatus, names: int, width: int) -> Text:
    progress, bar, style = batch.progress, _bar_width(width), _STYLES[batch_state(batch)]
    share = progress.finished / progress.total if progress.total else 0.0
    line = Text(_cell(batch.name, names) + " ")
    line.append(_bar(share, bar), style).append(" ")
    left = progress.time_left if batch.active else "" if batch.done else "no process"
    # The most important parts come first: the last ones are left out where there is no room.
    parts = [
        f"{progress.finished:,}" if progress.total is None else f"{progress.finished:,} of {progress.total:,}",
        f"{progress.failed:,} failed" if progress.failed else "",
        f"{progress.unknown:,} unknown" if progress.unknown else "",
        left if width >= _WIDE else left.partition(" (")[0],
        f"{progress.running:,} running" if progress.running else "",
        counted(progress.credits, "credit") if progress.credits else "",
        counted(progress.requests, "request") if progress.requests else "",
    ]
    return line.append(fitting(parts, width - names - bar - 2))


def _running(overview: cmsapi.Overview, width: int) -> list[Text]:
    jobs = overview.running
    stuck = sum(job.stuck for job in jobs)
    more = [f"{stuck:,} may be stuck"] if stuck else []
    more += [f"{len(overview.launching):,} being launched"] if overview.launching else []
    names = _name_width(width, (job.launch.target for job in jobs), 2)
    return [
        _title("running jobs", ", ".join([f"{len(jobs):,}", *more])),
        *(
            Text(
                f"{elapsed(job.seconds):>8} {'!' if job.stuck else ' '} "
                f"{_cell(job.launch.target, names)} {job.launch.kind.value.replace('_', ' '):<18} "
                f"{plain(job.launch.batch or '')}".rstrip(),
                "red" if job.stuck else "",
            )
            for job in jobs
        ),
    ]


def _launches(title: str, launches: Sequence[cmsapi.OpenLaunch], overview: cmsapi.Overview, style: str) -> list[Text]:
    rows = [
        Text(
            f"{elapsed((overview.at - each.asked_at).total_seconds()):>8}   {plain(each.target)} "
            f"{each.kind.value.replace('_', ' ')} {plain(each.batch or '')}".rstrip(),
            style,
        )
        for each in launches
    ]
    return [_title(title, f"{len(launches):,}"), *rows] if rows else []


def _title(name: str, more: str) -> Text:
    return Text(name, "bold").append(f"  {more}" if more else "", "dim")


def _cell(name: str, width: int) -> str:
    """Return a name in a column of a width, with an ellipsis where it is cut."""
    text = Text(plain(name))
    text.truncate(width, overflow="ellipsis", pad=True)
    return text.plain


def _name_width(width: int, names: Iterable[str], part: int = 4) -> int:
    """Return the width of a column of names: what the longest takes, and at most a part of the page."""
    longest = max((cell_len(plain(name)) for name in names), default=0)
    return min(max(longest, 8), width // part)


def _bar_width(width: int) -> int:
    return 30 if width >= _WIDE else 12


def _bar(share: float, width: int) -> str:
    """Draw a share of a whole, also without colours; a part is never drawn as nothing, nor as all of it."""
    full = min(width, round(share * width))
    if 0 < share < 1:
        full = min(max(full, 1), width - 1)
    return "█" * full + "░" * (width - full)
