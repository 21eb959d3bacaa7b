"""The `cmsapi` command (extra `cli`)."""

from __future__ import annotations

import sys

from cmsapi.extras import advice


def main() -> None:
    """Run the command line, or say what it needs."""
    try:
        from cmsapi.cli.running import run
    except ModuleNotFoundError as error:
        if error.name not in ("cyclopts", "rich"):
            raise
        sys.exit(f"The command line needs an extra: {advice('cli')}")
    except KeyboardInterrupt:
        # Ctrl-C came while the modules were loaded.
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))
