"""The façade: complete, lazy and cheap."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys

import pytest

import cmsapi

HEAVY = ("aiohttp", "anyio", "attr", "attrs", "cattrs", "asyncio", "ssl", "multidict", "yarl")


def modules_after(code: str) -> set[str]:
    """Return the names of the modules that are loaded after some code has run in a new interpreter."""
    script = (
        f"import sys; before = set(sys.modules)\n{code}\n"
        "after = sorted(set(sys.modules) - before); import json; print(json.dumps(after))"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(json.loads(done.stdout))


@pytest.mark.slow
def test_importing_costs_next_to_nothing() -> None:
    """`import cmsapi` loads the façade and its version, and none of what it stands on."""
    loaded = modules_after("import cmsapi")
    assert {name for name in loaded if name.startswith("cmsapi")} == {"cmsapi", "cmsapi._stub"}
    assert {name.partition(".")[0] for name in loaded}.isdisjoint(HEAVY)


@pytest.mark.slow
def test_settings_and_errors_need_no_aiohttp() -> None:
    """Catching an error and making settings loads neither aiohttp nor cattrs; the first client does."""
    loaded = modules_after("import cmsapi; cmsapi.NotFoundError, cmsapi.RateLimits(), cmsapi.OPERATIONS, cmsapi.User")
    assert {name.partition(".")[0] for name in loaded}.isdisjoint({"aiohttp", "cattrs", "anyio"})
    loaded = modules_after("import cmsapi; cmsapi.Client")
    assert "aiohttp" not in loaded
    loaded = modules_after("import cmsapi; cmsapi.Client('sk_1', base_url='https://x.example.com')")
    assert "aiohttp" in loaded


def parts(loaded: set[str]) -> set[str]:
    """Return the packages at the top and the modules right under `cmsapi` among what is loaded."""
    return {name.partition(".")[0] for name in loaded} | {".".join(name.split(".")[:2]) for name in loaded}


@pytest.mark.slow
def test_the_first_client_loads_what_carries_calls() -> None:
    """Resources, jobs and their models come with the first use of one; what states, terminals, tests need, never."""
    make = "import cmsapi; client = cmsapi.Client('sk_1', base_url='https://x.example.com')"
    never = {"sqlite3", "psycopg", "redis", "rich", "cyclopts", "opentelemetry", "pytest", "aioresponses", "looptime"}
    never |= {f"cmsapi.{name}" for name in ("sandbox", "cli", "doctor", "testing")}
    loaded = modules_after(make)
    assert parts(loaded).isdisjoint({*never, "cmsapi.resources", "cmsapi.jobs"})
    assert loaded.isdisjoint({"cmsapi.api.models.content", "cmsapi.ratelimit.shared_windows", "cmsapi.state.memory"})
    assert loaded.isdisjoint({"cmsapi.cli.terminal.progress", "cmsapi.observability.telemetry"})
    loaded = modules_after(f"{make}; client.contents, client.jobs")
    assert {"cmsapi.resources.contents", "cmsapi.jobs.namespace", "cmsapi.api.models.content"} <= loaded
    assert parts(loaded).isdisjoint(never)


def test_every_name_is_real() -> None:
    """Each public name can be had, from where it says, and is listed once."""
    assert len(cmsapi.__all__) == len(set(cmsapi.__all__))
    assert sorted(cmsapi.__all__) == dir(cmsapi)
    for name in cmsapi.__all__:
        value = getattr(cmsapi, name)
        module = getattr(value, "__module__", None)
        if isinstance(value, type):
            assert (name, value.__name__) == (value.__name__, name)
            assert str(module).startswith("cmsapi.")
    namespace: dict[str, object] = {}
    exec("from cmsapi import *", namespace)  # noqa: S102
    assert set(cmsapi.__all__) <= set(namespace)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelt name fails like on any module."""
    with pytest.raises(AttributeError, match="module 'cmsapi' has no attribute 'Cleint'"):
        cmsapi.Cleint  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(cmsapi, "Cleint")


def test_every_error_is_public() -> None:
    """The package has each class of the errors module."""
    module = importlib.import_module("cmsapi.errors")
    errors = {name for name, value in vars(module).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert len(errors) > 20
    assert errors <= set(cmsapi.__all__)


@pytest.mark.slow
def test_every_module_can_be_imported_first() -> None:
    """No module needs another one to be loaded before it: imports go in no circle."""
    names = [
        module.name
        for module in pkgutil.walk_packages(cmsapi.__path__, "cmsapi.")
        if module.name.startswith(("cmsapi.transport", "cmsapi.ratelimit", "cmsapi.state", "cmsapi.observability"))
        or module.name.count(".") == 1
    ]
    wanted = [name for name in names if name.partition(".")[2].split(".")[0] not in ("cli", "display", "__main__")]
    script = "\n".join(
        f"import {name}\nfor each in [m for m in sys.modules if m.startswith('cmsapi')]: del sys.modules[each]"
        for name in wanted
    )
    modules_after(script)
    assert "cmsapi.transport" in wanted


def test_the_version_is_one() -> None:
    """The package tells its version."""
    assert cmsapi.__version__.count(".") >= 1
