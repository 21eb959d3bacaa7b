"""The promises about items: from arguments, from files written by any program, and from standard input."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cmsapi.cli.inputs import STDIN, read_items, read_text
from cmsapi.errors import ConfigError

FILES = {
    "lines": b"kwd_1\n\n# a comment\nkwd_2\r\n",
    "output of a list": b"kwd_1\tshoes\t10\nkwd_2\ttents\t\n",
    "csv": b'keyword,id\nshoes,kwd_1\n"a, b",kwd_2\n',
    "spreadsheet": "\ufeffid;Suchwort\r\nkwd_1;Schuhe\r\nkwd_2;Zelte\r\n".encode(),
    "utf-16": "id\tkeyword\nkwd_1\tshoes\nkwd_2\ttents\n".encode("utf-16"),
    "one column": b"ID\nkwd_1\nkwd_2\n",
    "excel": b"sep=;\nIDs;volume\nkwd_1;10\nkwd_2;20\n",
    "large cells": b"text,id\n" + b"x" * 200_000 + b",kwd_1\n-,kwd_2\n",
    "json lines": b'{"id": "kwd_1", "keyword": "a"}\n{"id": "kwd_2"}\n',
    "json list": b'[{"id": "kwd_1"},\n "kwd_2"]',
}
REFUSED = {
    "empty": (b"\n# nothing\n", "no items"),
    "no identifier": (b"kwd_1\n..\n", "identifier"),
    "json without the key": (b'[{"name": "x"}]', "'id'"),
    "broken json": (b"{", "JSON"),
    "a table without the column": (b"Name;Volume\nshoes;10\n", "table"),
}


@pytest.mark.parametrize("name", FILES)
def test_reads_what_programs_write(tmp_path: Path, name: str) -> None:
    """Text, list output, CSV in the variants that spreadsheets write, and JSON give the same identifiers."""
    file = tmp_path / "items"
    file.write_bytes(FILES[name])
    assert read_items([f"@{file}"]) == ["kwd_1", "kwd_2"]


def test_each_item_counts_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An item that is given twice is launched once, with a message."""
    (tmp_path / "ids").write_text("b\nc\n")
    assert read_items(["a", "b", f"@{tmp_path / 'ids'}"]) == ["a", "b", "c"]
    assert "repeated items left out: 1" in capsys.readouterr().err


def test_other_encodings_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not UTF-8 is read as Windows-1252, with a message, because keywords are paid for."""
    (tmp_path / "words.txt").write_bytes("Größe\n".encode("cp1252"))
    assert read_items([f"@{tmp_path / 'words.txt'}"], "keyword") == ["Größe"]
    assert "Windows-1252" in capsys.readouterr().err


def test_keywords_are_not_changed(tmp_path: Path) -> None:
    """A keyword that begins with # is one, and neither a line break in a cell nor a rare separator makes two."""
    (tmp_path / "words.csv").write_text('keyword,volume\n#vanlife,1\n"trail\nshoes",2\n')
    (tmp_path / "words.txt").write_text("#vanlife\ntrail\u2028shoes\n")
    assert read_items([f"@{tmp_path / 'words.csv'}"], "keyword") == ["#vanlife", "trail shoes"]
    assert read_items([f"@{tmp_path / 'words.txt'}"], "keyword") == ["#vanlife", "trail\u2028shoes"]


def test_apostrophes_against_formulas_are_taken_away(tmp_path: Path) -> None:
    """What ``--csv`` marks for spreadsheets is read back unchanged."""
    (tmp_path / "words.csv").write_text("keyword\n'=1+1\n'tis\n")
    assert read_items([f"@{tmp_path / 'words.csv'}"], "keyword") == ["=1+1", "'tis"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hyphen reads standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"kwd_1\n")))
    assert read_items(["kwd_0", STDIN]) == ["kwd_0", "kwd_1"]


@pytest.mark.parametrize("name", REFUSED)
def test_refuses(tmp_path: Path, name: str) -> None:
    """A file without items or with something else is refused by name."""
    content, word = REFUSED[name]
    file = tmp_path / "items.txt"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match=f"items.txt.*{word}"):
        read_items([f"@{file}"])


def test_a_file_without_its_sign(tmp_path: Path) -> None:
    """A file that is named without ``@`` is refused instead of launched as an item."""
    (tmp_path / "ids.txt").write_text("kwd_1\n")
    with pytest.raises(ConfigError, match=r"@ids\.txt"):
        read_items(["ids.txt"])


def test_refuses_what_cannot_be_read() -> None:
    """A missing file and an empty list of items are refused."""
    with pytest.raises(ConfigError, match="No such file"):
        read_text("@missing.txt")
    with pytest.raises(ConfigError, match="no items"):
        read_items([])
