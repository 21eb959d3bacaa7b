"""What the command does differently on Windows: standard streams, quoting, and files of its shells."""

from __future__ import annotations

import csv
import errno
import io
import subprocess
import sys
from pathlib import Path

import pytest

from cmsapi import Content
from cmsapi.cli.support.arguments import read_text
from cmsapi.cli.support.text_backup import TextBackup
from cmsapi.cli.terminal.quoting import can_be_typed, quote_words
from cmsapi.cli.terminal.streams import cannot_be_written, is_closed_pipe

# A pipe of Windows, as Python 3.14 and older open it.
STREAMS = r"""
import csv, sys
from cmsapi.cli.terminal.output import TABLE, Output, print_list
from cmsapi.cli.terminal.streams import prepare_streams
sys.stdout.reconfigure(encoding="cp1252", newline="\r\n")
sys.platform = "win32"
prepare_streams()
print_list(["Zürich → 走"], {"id": str}, Output(csv=True), str)
print_list(["Zürich → 走"], {"id": str}, TABLE, str)
"""


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command take the system for Windows."""
    monkeypatch.setattr(sys, "platform", "win32")


@pytest.mark.slow
def test_pipes_carry_utf_8() -> None:
    """What goes to a file is what goes there on Linux: other commands read it, and no row ends with two returns."""
    done = subprocess.run([sys.executable, "-c", STREAMS], capture_output=True, check=True)
    assert done.stdout == "id\r\nZürich → 走\r\nid\nZürich → 走\n".encode()


@pytest.mark.usefixtures("windows")
def test_a_closed_pipe_has_another_error_there() -> None:
    """Windows calls a closed pipe an invalid argument; with a file's name the error is about that file."""
    closed = OSError(errno.EINVAL, "Invalid argument")
    assert (is_closed_pipe(closed), cannot_be_written(closed)) == (True, True)
    assert not cannot_be_written(OSError(errno.EINVAL, "Invalid argument", "ids.csv"))


def test_an_invalid_argument_is_no_closed_pipe_elsewhere() -> None:
    """On other systems a closed pipe has an error of its own."""
    assert not is_closed_pipe(OSError(errno.EINVAL, "Invalid argument"))
    assert is_closed_pipe(BrokenPipeError(errno.EPIPE, "Broken pipe"))


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize(
    ("word", "typed"),
    [
        ("kwd_1", "kwd_1"),
        (r"C:\Users\Ada\jobs.db", r"C:\Users\Ada\jobs.db"),
        ("sqlite:///C:/jobs.db", "sqlite:///C:/jobs.db"),
        ("--title=Shoes & more", '"--title=Shoes & more"'),
        ("a&calc.exe", '"a&calc.exe"'),
        ('say "a" & b', '"say ""a"" & b"'),
        ("it's", '"it\'s"'),
        ("", '""'),
        # PowerShell takes it for a variable otherwise.
        ("@ids.csv", '"@ids.csv"'),
    ],
)
def test_words_are_quoted_for_both_shells(word: str, typed: str) -> None:
    """The Command Prompt and PowerShell read what a message says to type; no text begins another command."""
    assert quote_words(["x", word]) == f"x {typed}"


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("word", ["%PATH%", "$env:KEY", 'a "b"', "`n", "wow!", "C:\\"])
def test_what_quotes_do_not_protect_is_not_typed(word: str) -> None:
    """A text that a shell would change is left out of commands to type."""
    assert not can_be_typed(word)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_of_its_shells_can_be_read(tmp_path: Path, encoding: str) -> None:
    """Older PowerShells write UTF-16, editors a byte order mark, and all of them returns at line ends."""
    path = tmp_path / "ids.csv"
    path.write_bytes("id,keyword\r\nkwd_1,Läufe\r\n".encode(encoding))
    rows = list(csv.reader(io.StringIO(read_text(str(path)))))
    assert rows == [["id", "keyword"], ["kwd_1", "Läufe"]]


async def test_the_old_text_keeps_its_line_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of a draft's old text has its bytes on every system."""
    monkeypatch.chdir(tmp_path)
    backup = await TextBackup.create(Content(id="cnt_1", html="<p>a</p>\n<p>b</p>\r\n"))
    assert backup.path is not None
    assert backup.path.read_bytes() == b"<p>a</p>\n<p>b</p>\r\n"
