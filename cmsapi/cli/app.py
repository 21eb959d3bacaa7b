"""The command ``cmsapi``: its subcommands, its exit codes, and how it shows errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

try:
    from cyclopts import App, CycloptsError, Parameter
except ModuleNotFoundError:  # the extra is not installed
    raise SystemExit("cmsapi: the command needs more packages: pip install 'cmsapi[cli]'") from None

from cmsapi import __version__
from cmsapi.cli import contents, jobs, launches, lists, sandbox
from cmsapi.cli.connect import DEFAULTS, Options, connect
from cmsapi.cli.inputs import STDIN
from cmsapi.cli.output import Writer, columns, note, text_of
from cmsapi.errors import ArgumentError, CMSError, ConfigError

HELP = """Content Marketing Service on the command line.

Results go to standard output, all messages to standard error. The key and the address of the service come from
CMSAPI_API_KEY and CMSAPI_BASE_URL; CMSAPI_STATE names the state, and CMSAPI_LOG=info logs retries and waits."""
EXIT_CODES = """Exit codes: 0 all is done; 1 an error, or not all is done; 2 wrong usage, nothing was sent; 129, 130,
143 stopped by SIGHUP, Ctrl-C, SIGTERM."""

app: App = App("cmsapi", HELP, help_epilogue=EXIT_CODES, version=__version__, suppress_keyboard_interrupt=False)
app.default_parameter = Parameter(show_default=lambda value: value or None, negative="")
for _part in (lists.app, launches.app, sandbox.app):
    app.update(_part)
app.command(contents.app)
app.command(jobs.app)


@app.command
async def doctor(*, options: Options = DEFAULTS) -> int:
    """Check the key, permissions, balances, limits, clock and routes; four requests, no credit."""
    async with connect(options) as client, Writer(options, columns("level subject text"), whole=True) as writer:
        diagnosis = await client.doctor()
        for finding in diagnosis.findings:
            writer.write({"level": finding.level, "subject": finding.subject, "text": finding.text})
    return 0 if diagnosis.ok else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with ``arguments``, or with those of the process, and return its exit code."""
    _prepare_streams()
    tokens = [STDIN if each == "-" else each for each in (sys.argv[1:] if arguments is None else arguments)]
    try:
        code = app(tokens, exit_on_error=False, result_action="return_value")
        sys.stdout.flush()
    except CycloptsError:  # cyclopts has printed it
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the last flush fails
        return 0
    except (CMSError, OSError) as error:
        note(f"cmsapi: {text_of(error)}")
        return 2 if isinstance(error, ConfigError | ArgumentError) else 1
    except KeyboardInterrupt:
        return 130
    return int(code or 0)


def _prepare_streams() -> None:
    """Make sure that standard output and standard error exist and accept any text."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123  closed when the program ends
    sys.stderr = sys.stderr or sys.stdout
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
