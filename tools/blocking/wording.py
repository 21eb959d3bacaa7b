"""Put the docstrings of the async client into the words of code without an event loop."""

from __future__ import annotations

import re
import textwrap

_LONGEST = 120
# What docstrings of the async client say, and what it is here.
_WORDS = {
    r"`await` it for": "`wait()` gives",
    r"The list; `wait\(\)` gives": "The list; `first_page()` gives",
    r"`await job` gives": "`job.wait()` gives",
    r"`await client\.jobs\.attach\(token\)` gives": "`client.jobs.attach(token).wait()` gives",
    r"; sync\s+or async\.": "; it runs in a worker thread.",
    r", sync or async\.": ", in a worker thread.",
    r"an async iterator and context manager": "an iterator and context manager",
    r"a[n] async iterator": "an iterator",
    r"An async iterator": "An iterator",
    r"async (for|with)": r"\1",
    r", also from an async iterable\.": ", which are read before the first launch.",
    r"`async def send\(request\) -> Response`": "`async def send(request) -> Response`",
    r"aclose\(": "close(",
    r"A plain function; it runs on the event loop\.": (
        "A function that does not call the client; it runs in the client's thread."
    ),
    r"`call` is not a plain function; use `events\(\)` to await": "`call` is not a plain function",
    r"for example a launch that was not awaited": "for example its token",
    r"await them for their results": "`wait()` gives their results",
    r"once it is awaited": "once it is waited for",
    r"and can be awaited again": "and can be waited for again",
    r"Another task takes the outcomes meanwhile\. Any number of tasks may follow": (
        "Another thread takes the outcomes meanwhile. Any number of threads may follow"
    ),
    r"on this event loop": "by this client",
    r"cancelled, the job": "interrupted, the job",
    r"`await (client\.jobs\.batch\(.*?\)\.refresh\(\))`": r"`\1`",
}


def reworded(doc: str) -> str:
    """Return a docstring in the words of code without an event loop."""
    for ours, theirs in _WORDS.items():
        doc = re.sub(ours, theirs, doc)
    return "\n".join(_wrapped(line) for line in doc.split("\n"))


def _wrapped(line: str) -> str:
    """Break a line that has become too long."""
    indent = re.match(r"( *)(?:\w+: )?", line)
    if len(line) <= _LONGEST or indent is None:
        return line
    more = indent[1] if indent[0] == indent[1] else indent[1] + "    "
    return "\n".join(textwrap.wrap(line, _LONGEST, subsequent_indent=more, break_on_hyphens=False))
