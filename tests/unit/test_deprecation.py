"""What goes away warns at the line that uses it, and not for longer than was said."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

import cmsapi
import cmsapi.blocking
from cmsapi import deprecation
from cmsapi.blocking.mirror import Mirror
from cmsapi.deprecation import NAMES, deprecated, deprecated_parameter, read_message
from cmsapi.sandbox import Sandbox
from tests.support.interface.overdue import overdue, present
from tests.support.interface.public import ROOT


def going(name: str, instead: str = "`me`") -> str:
    """Return the message about a name."""
    return f"`{name}` is deprecated since 0.2.0 and will be removed in 0.4.0: use {instead}."


class OldClient(cmsapi.Client):
    """A client as a later version might have it."""

    @deprecated(going("Client.whoami"))
    async def whoami(self) -> cmsapi.User:
        """Return the user, under an old name."""
        return await self.me()

    @deprecated(going("Client.whoami_now"))
    def whoami_now(self) -> Any:
        """Return what can be awaited, from a method that is no coroutine function."""
        return self.me()

    @property
    @deprecated(going("Client.quota", "`rate_limit`"))
    def quota(self) -> cmsapi.RateLimit:
        """The limit, under an old name."""
        return self.rate_limit

    @deprecated_parameter("patience", going("Client.ask(patience)", "`timeout`"), becomes="timeout")
    async def ask(self, name: str, *, patience: float | None = None, timeout: float | None = None) -> Any:  # noqa: ASYNC109
        """Return what was given."""
        return name, timeout

    @classmethod
    @deprecated(going("Client.make"))
    def make(cls) -> type:
        """Return the class."""
        return cls


class OldBlockingClient(cmsapi.blocking.Client, of=OldClient):
    """Its blocking class, as `make blocking` would write it."""

    __slots__ = ()

    @deprecated(going("Client.whoami"))
    def whoami(self) -> cmsapi.User:
        """Return the user, under an old name."""
        return self._call("whoami")  # type: ignore[no-any-return]

    @property
    @deprecated(going("Client.quota", "`rate_limit`"))
    def quota(self) -> cmsapi.RateLimit:
        """The limit, under an old name."""
        return self._read("quota")  # type: ignore[no-any-return]

    @deprecated_parameter("patience", going("Client.ask(patience)", "`timeout`"), becomes="timeout")
    def ask(self, name: str, *, patience: float | None = None, timeout: float | None = None) -> Any:
        """Return what was given."""
        return self._call("ask", name, patience=patience, timeout=timeout)


@deprecated_parameter("tries", going("Policy(tries)", "`max_tries`"), becomes="max_tries")
@attrs.frozen
class Policy:
    """Settings as a later version might have them."""

    tries: int | None = None
    max_tries: int = 5


@pytest.fixture
def client() -> OldClient:
    """A client of a sandbox in this process."""
    box = Sandbox()
    return OldClient(box.api_key, base_url=box.base_url, transport=box.transport)


@pytest.fixture
def warned() -> Iterator[list[warnings.WarningMessage]]:
    """The warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def one(warned: list[warnings.WarningMessage], line: int) -> str:
    """Return the message of the only warning, which points at a line of this file."""
    (each,) = warned
    assert (each.category, Path(each.filename), each.lineno) == (DeprecationWarning, Path(__file__), line)
    warned.clear()
    return str(each.message)


def here() -> int:
    """Return the number of the line that calls."""
    frame: Any = inspect.currentframe()
    return int(frame.f_back.f_lineno)


async def test_a_coroutine_warns_where_it_is_called(client: OldClient, warned: list[warnings.WarningMessage]) -> None:
    """The line that awaits it is named, and that of a task as well, which runs elsewhere."""
    me = await client.whoami()
    assert "use `me`" in one(warned, here() - 1)
    task = asyncio.create_task(client.whoami())
    assert "Client.whoami" in one(warned, here() - 1)
    assert await task == me == await client.whoami_now()
    one(warned, here() - 1)


async def test_properties_and_class_methods_warn(client: OldClient, warned: list[warnings.WarningMessage]) -> None:
    """A property is used without a call."""
    limit = client.quota
    assert "`rate_limit`" in one(warned, here() - 1)
    assert limit == client.rate_limit
    assert OldClient.make() is OldClient
    one(warned, here() - 1)


async def test_a_renamed_parameter_still_counts(client: OldClient, warned: list[warnings.WarningMessage]) -> None:
    """Its value goes to the new one; the default and the new one warn of nothing; both at once are an error."""
    assert await client.ask("a", timeout=3) == ("a", 3)
    assert await client.ask("a", patience=None) == ("a", None)
    assert warned == []
    assert await client.ask("a", patience=3) == ("a", 3)
    assert "use `timeout`" in one(warned, here() - 1)
    with pytest.raises(TypeError, match="give only `timeout`"):
        await client.ask("a", patience=3, timeout=4)


def test_a_renamed_setting_still_counts(warned: list[warnings.WarningMessage]) -> None:
    """A class of attrs takes its old parameter by name and by place."""
    assert Policy(max_tries=3).max_tries == 3
    assert warned == []
    assert Policy(tries=3).max_tries == 3
    one(warned, here() - 1)
    assert Policy(3).max_tries == 3
    one(warned, here() - 1)


def test_a_blocking_class_warns_once(warned: list[warnings.WarningMessage]) -> None:
    """The line of the caller is named, and the async class that does the work says nothing."""
    box = Sandbox()
    with OldBlockingClient(box.api_key, base_url=box.base_url, transport=box.transport) as blocking:
        blocking.asynchronous.__class__ = OldClient
        assert blocking.whoami() == blocking.me()
        one(warned, here() - 1)
        assert blocking.quota.limit == blocking.rate_limit.limit
        one(warned, here() - 1)
        assert blocking.ask("a", patience=3) == ("a", 3)
        one(warned, here() - 1)
    assert Mirror.mirrors.pop(OldClient) is OldBlockingClient


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.11 has no mark for coroutine functions")
def test_coroutine_functions_stay_so() -> None:
    """What asks whether a function is a coroutine function gets the same answer."""
    assert inspect.iscoroutinefunction(OldClient.whoami)
    assert inspect.iscoroutinefunction(OldClient.ask)
    assert not inspect.iscoroutinefunction(OldClient.whoami_now)


def test_a_name_of_the_package_warns(
    warned: list[warnings.WarningMessage], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An old name gives what it meant, is not listed, and warns at each use, also when it is imported."""
    monkeypatch.setitem(NAMES, "cmsapi", {"Backoff": ("cmsapi.config:RetryPolicy", going("cmsapi.Backoff"))})
    assert cmsapi.Backoff is cmsapi.RetryPolicy  # type: ignore[attr-defined]
    one(warned, here() - 1)
    assert "Backoff" not in {*dir(cmsapi), *cmsapi.__all__}
    program = tmp_path / "program.py"
    program.write_text("import os\n\nfrom cmsapi import Backoff\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("program").Backoff is cmsapi.RetryPolicy
    assert {(Path(each.filename).name, each.lineno) for each in warned} == {("program.py", 3)}


@pytest.mark.parametrize(
    "message", ["", "gone", "`a` is deprecated since 0.2 and will be removed in 0.4.0: use `b`.", going("a") + " Now."]
)
def test_a_message_has_one_form(message: str) -> None:
    """A message without versions or replacement is refused where it is written."""
    with pytest.raises(ValueError, match="A deprecation reads"):
        deprecated(message)(test_a_message_has_one_form)
    with pytest.raises(ValueError, match="A deprecation reads"):
        deprecated_parameter("message", message)(test_a_message_has_one_form)


def test_a_parameter_without_default_cannot_go() -> None:
    """The decorator refuses a parameter that is missing or required."""
    for name in ("message", "unknown"):
        with pytest.raises(TypeError, match=f"no parameter '{name}' with a default"):
            deprecated_parameter(name, going("f(message)"))(test_a_message_has_one_form)


def test_what_is_overdue_is_named() -> None:
    """A version that was to be without something, and each later one, is refused with its name."""
    found = [read_message(going("Client.whoami"), "cmsapi.client")]
    assert overdue("0.3.9", found) == []
    for version in ("0.4.0", "0.10.0", "1.0.0"):
        (line,) = overdue(version, found)
        assert "Client.whoami" in line


def test_nothing_is_overdue_and_the_page_has_all() -> None:
    """The table on the page is that of the code, and this version has nothing left that it was to be without."""
    page = (ROOT / "docs/versioning.md").read_text(encoding="utf-8")
    table = re.search(r"^\| deprecated \| since \| removed in \| use \|\n\|[-|]+\n((?:\|.*\n)*)", page, re.MULTILINE)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in (table[1] if table else "").splitlines()]
    assert rows == [[f"`{each.name}`", each.since, each.removal, each.instead] for each in present()]
    assert ("\nNothing is deprecated today.\n" in page) is (table is None)
    assert overdue(cmsapi.__version__) == []


CHECKED = """
from cmsapi.deprecation import deprecated

@deprecated("`f` is deprecated since 0.2.0 and will be removed in 0.4.0: use `g`.")
def f() -> int:
    return 1

f()
"""


@pytest.mark.slow
def test_type_checkers_see_it(tmp_path: Path) -> None:
    """Mypy and pyright report the use, with the message."""
    program = tmp_path / "program.py"
    program.write_text(CHECKED, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"reportDeprecated": "error"}', encoding="utf-8")
    commands: tuple[Callable[[], list[str]], ...] = (
        lambda: ["mypy", "--config-file=", "--enable-error-code", "deprecated", "--follow-imports=silent"],
        lambda: ["pyright", "--pythonpath", sys.executable, "--project", str(tmp_path)],
    )
    for command in commands:
        line = [sys.executable, "-m", *command()]
        if "pyright" not in line:
            line.append(str(program))
        ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ended.returncode == 1, ended.stdout + ended.stderr
        assert "will be removed in 0.4.0" in ended.stdout


def test_the_message_of_the_module_is_one() -> None:
    """What the module shows as an example has the form."""
    (line,) = re.findall(r"^    (`.*\.)$", deprecation.__doc__ or "", re.MULTILINE)
    assert read_message(line, "cmsapi").name == "Jobs.restore"
