"""Missing extras."""

from __future__ import annotations

import subprocess
import sys

import pytest

CASES = {
    "from cmsapi.cli.terminal.progress import LiveProgress": ("rich", "cli"),
    "import cmsapi.observability.telemetry": ("opentelemetry", "otel"),
    "from cmsapi.testing import mocked_aiohttp": ("aioresponses", "testing"),
    "import cmsapi.resources.credit_plot": ("matplotlib", "notebook"),
    "import cmsapi; cmsapi.CreditReport(()).to_pandas()": ("pandas", "notebook"),
    "import cmsapi; cmsapi.to_pandas([])": ("pandas", "notebook"),
    "import cmsapi; cmsapi.Client('sk_1', base_url='https://a.example', state='redis://host')": (
        "redis",
        "redis",
    ),
    "import cmsapi; cmsapi.Client('sk_1', base_url='https://a.example', state='postgresql://host/db')": (
        "psycopg",
        "postgres",
    ),
    "from cmsapi.cli import main; main()": ("cyclopts", "cli"),
    "import cmsapi.mcp.server": ("mcp", "mcp"),
    "sys.argv = ['cmsapi', 'mcp', '--sandbox']; from cmsapi.cli import main; main()": ("mcp", "mcp"),
}


@pytest.mark.slow
@pytest.mark.parametrize("line", CASES)
def test_a_missing_extra_is_named(line: str) -> None:
    """A missing package names its extra, and the command that installs it."""
    package, extra = CASES[line]
    code = f"import sys; sys.modules[{package!r}] = None; {line}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2)
    assert f"pip install 'cmsapi[{extra}]'" in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_broken_package_keeps_its_error() -> None:
    """If an installed package misses a package of its own, the error names that one."""
    code = "import sys; sys.modules['yaml_of_theirs'] = None\n"
    code += "from cmsapi.extras import needs\nwith needs('cli'):\n    import yaml_of_theirs"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "yaml_of_theirs" in done.stderr
    assert "pip install" not in done.stderr
