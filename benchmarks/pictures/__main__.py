"""Make the pictures of the documentation again: `python -m benchmarks.pictures`, or some of them by name."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks.pictures.fan_out import SAID, SPEED, recorded
from benchmarks.pictures.hour import hour_of, polling_loops, sdk
from benchmarks.pictures.hour_picture import SCHEMES, drawn, said
from benchmarks.pictures.notebook import taken
from benchmarks.pictures.recording import moving
from benchmarks.pictures.top import SAID as TOP_SAID, SPEED as TOP_SPEED, watched
from benchmarks.tables import replace_section

_ROOT = Path(__file__).parents[2]
_STATIC = _ROOT / "docs/_static"


def hour() -> None:
    """Draw an hour of analyses, for light and for dark pages, and say in the README what it shows."""
    # The program without the SDK is refused all the time; here that is a figure, not news.
    logging.getLogger("cmsapi").setLevel(logging.ERROR)
    with_sdk, loops = hour_of(sdk), hour_of(polling_loops)
    for scheme, colours in SCHEMES.items():
        (_STATIC / f"hour-{scheme}.svg").write_text(drawn(with_sdk, loops, colours), encoding="utf-8")
    picture = f"""<picture>
  <source media="(prefers-color-scheme: dark)" srcset="docs/_static/hour-dark.svg">
  <img src="docs/_static/hour-light.svg" width="600" alt="{said(with_sdk, loops)}">
</picture>"""
    replace_section(_ROOT / "README.md", "hour", picture)


def terminal() -> None:
    """Record a fan-out of the command line."""
    picture = moving(asyncio.run(recorded()), SAID, speed=SPEED, still=0.6)
    (_STATIC / "fan-out.svg").write_text(picture, encoding="utf-8")
    replace_section(_ROOT / "README.md", "fan-out", f'<img src="docs/_static/fan-out.svg" width="604" alt="{SAID}">')


def top() -> None:
    """Record the page of the workers."""
    picture = moving(asyncio.run(watched()), TOP_SAID, speed=TOP_SPEED, still=0.4)
    (_STATIC / "top.svg").write_text(picture, encoding="utf-8")
    replace_section(_ROOT / "README.md", "top", f'<img src="docs/_static/top.svg" width="704" alt="{TOP_SAID}">')


def notebook() -> None:
    """Take pictures of a fan-out in JupyterLab."""
    taken(_STATIC)


_PICTURES: Mapping[str, Callable[[], None]] = {"hour": hour, "terminal": terminal, "top": top, "notebook": notebook}


def main() -> None:
    """Make the pictures."""
    parser = argparse.ArgumentParser(prog="benchmarks.pictures", description=__doc__)
    parser.add_argument("pictures", nargs="*", choices=[[], *_PICTURES], metavar="PICTURE", help="all if left out")
    for name in parser.parse_args().pictures or _PICTURES:
        _PICTURES[name]()


if __name__ == "__main__":
    main()
