"""The file layer: the result of each operation, its failures, and its use by all parts of a study."""

from __future__ import annotations

import ast
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import sojourn
from sojourn import InputError, RunFailed, files
from sojourn.errors import Unreadable

PACKAGE = Path(sojourn.__file__).parent
#: Modules that write through the file layer only.
WRITERS = ["runner", "study", "report", "papers", "plots", "cli", "api.py", "results.py"]
#: Modules that read results through the file layer only; the exceptions read the user's files.
READERS = ["runner", "study", "report", "api.py", "results.py"]
USERS = {"study/tune/ranking.py", "study/sweep/plan_file.py", "cli/__init__.py", "cli/stability.py"}
USERS |= {"runner/owner.py"}  # it reads /proc
WRITE = {"write_text", "write_bytes", "mkdir", "touch", "rename", "unlink", "rmdir", "chmod", "hardlink_to"}
WRITE_OF = {"os": {"rename", "replace", "remove", "makedirs"}, "shutil": {"rmtree", "move", "copy"}}
READ = {"read_bytes", "read_text", "iterdir", "glob", "rglob", "exists", "is_file", "is_dir", "stat"}
PARQUET = {"read_parquet", "write_parquet", "scan_parquet", "read_parquet_schema", "write_csv"}


class Failing(files.LocalDisk):
    """The local disk, with some operations replaced by an error."""

    def __init__(self, number: int, *operations: str) -> None:
        def fail(path: Path, *_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number), os.fspath(path))

        for name in operations:
            setattr(self, name, fail)


def test_a_file_is_replaced_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new/deep/file"
    files.make_folder(path.parent)
    for content in ("first", "second"):
        files.write(path, content)
        assert files.read_text(path) == content
    assert files.names(path.parent) == ["file"]
    files.write(path, "#!/bin/sh\n", executable=True)
    assert os.access(path, os.X_OK)


@pytest.mark.parametrize("operation", ["write", "sync", "rename"])
def test_a_failed_write_leaves_the_old_content(tmp_path: Path, operation: str) -> None:
    path = tmp_path / "file"
    files.write(path, "old")
    expected = pytest.raises(RunFailed, match=f"^{path}: cannot be written: no space left on device")
    with files.using(Failing(errno.ENOSPC, operation)), expected:
        files.write(path, "new")
    assert (files.read_text(path), files.names(tmp_path)) == ("old", ["file"])


def test_every_new_name_is_synchronized(tmp_path: Path) -> None:
    """Without that, a power cut loses the name and with it the file (`test_faults`)."""
    synchronized = []

    class Watched(files.LocalDisk):
        def sync_folder(self, path: Path) -> None:
            synchronized.append(path.relative_to(tmp_path).as_posix())
            super().sync_folder(path)

    with files.using(Watched()):
        files.make_folder(tmp_path / "a/b")
        files.write(tmp_path / "a/b/c", "x")
        files.rename(tmp_path / "a/b/c", tmp_path / "a/d")
        files.create(tmp_path / "e", "x")
        files.remove(tmp_path / "a/d")
    assert synchronized == [".", "a", "a/b", "a", ".", "a"]


def test_one_process_creates_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert [files.create(path, text) for text in ("mine", "yours")] == [True, False]
    assert files.read_text(path) == "mine"
    with files.using(Failing(errno.EPERM, "link")):
        assert [files.create(tmp_path / "other", text) for text in ("mine", "yours")] == [True, False]
    assert files.names(tmp_path) == ["file", "other"]


def test_an_appended_line_never_continues_an_incomplete_one(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text('{"half": ')
    files.append(path, "whole")
    files.append(path, "next")
    assert path.read_text().splitlines() == ['{"half": ', "whole", "next"]


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    unlock = files.lock(tmp_path / "lock")
    assert unlock is not None
    assert files.lock(tmp_path / "lock") is None
    unlock()
    again = files.lock(tmp_path / "lock")
    assert again is not None
    again()


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.ESTALE])
def test_unreadable_files_are_errors_and_missing_files_are_not(tmp_path: Path, number: int) -> None:
    path = tmp_path / "file"
    assert (files.read(path), files.exists(path), files.size(path)) == (None, False, None)
    assert files.read(path / "below") is None
    assert files.read(tmp_path / ("n" * 300)) is None
    path.touch()
    with files.using(Failing(number, "read", "facts", "names")):
        for read in (files.read, files.exists, files.names):
            with pytest.raises(Unreadable, match=f"^{path}: cannot be read: ") as caught:
                read(path)
            assert caught.value.exit_code == 1
    with files.using(Failing(number, "write")), pytest.raises((InputError, RunFailed), match="be written"):
        files.write(path, "x")


def test_temporary_files_of_killed_processes_are_removed_when_they_are_old(tmp_path: Path) -> None:
    for name in (".a.host-1.tmp", ".b.host-1.tmp", "c.tmp"):
        (tmp_path / name).touch()
    os.utime(tmp_path / ".a.host-1.tmp", (0, 0))
    os.utime(tmp_path / "c.tmp", (0, 0))
    files.remove_stale(tmp_path, 3600)
    assert files.names(tmp_path) == [".b.host-1.tmp", "c.tmp"]


def test_a_study_uses_the_file_layer_only() -> None:
    """Seen to fail: ``path.write_text`` in a report, ``open(path, "w")`` in the store."""
    found = [f"{where} writes" for where, call in _calls(WRITERS) if _writes(call)]
    found += [f"{where} reads" for where, call in _calls(READERS) if _reads(call)]
    assert not [one for one in found if one.split(":")[0] not in USERS], "use sojourn.files"


def _calls(names: list[str]) -> Iterator[tuple[str, ast.Call]]:
    for name in names:
        for source in sorted((PACKAGE / name).rglob("*.py")) or [PACKAGE / name]:
            for node in ast.walk(ast.parse(source.read_text())):
                if isinstance(node, ast.Call):
                    yield f"{source.relative_to(PACKAGE).as_posix()}:{node.lineno}", node


def _split(call: ast.Call) -> tuple[str, str]:
    """Return object and function of a call, such as ``path.parent`` and ``mkdir``; not of the file layer."""
    of, _, name = ast.unparse(call.func).rpartition(".")
    return ("", "") if of == "files" else (of, name)


def _writes(call: ast.Call) -> bool:
    of, name = _split(call)
    if name == "open":  # with a mode
        return any(
            isinstance(one, ast.Constant) and set(str(one.value)) & set("wax+") for one in call.args[-1:]
        )
    if name == "replace" and of and len(call.args) == 1 and not call.keywords:  # of a path, not of a text
        return not isinstance(call.args[0], ast.Name | ast.Dict) or of.endswith("path")
    if name in PARQUET:
        return name.startswith("write") and not _in_memory(call)
    if name == "rename" and isinstance(call.args[0], ast.Dict | ast.DictComp | ast.Name):  # of columns
        return False
    return bool(of) and (name in WRITE or name in WRITE_OF.get(of, ()))


def _reads(call: ast.Call) -> bool:
    of, name = _split(call)
    if name in PARQUET:
        return not _in_memory(call)
    return (name == "open" and of not in ("Results", "cls")) or (
        bool(of) and name in READ and not of.startswith(("resources", "(resources"))
    )


def _in_memory(call: ast.Call) -> bool:
    return not call.args or "BytesIO" in ast.unparse(call) or ast.unparse(call.args[0]) == "buffer"
