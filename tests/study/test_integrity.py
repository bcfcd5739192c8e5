"""Stored results are verified: a changed bit, a lost file or a file of another run is never used as a result.

Without hashes, 13 % of 300 changed bits in a chunk changed metrics silently, a damaged trace stopped every
later command, and reading commands renamed files that they could not read. Mutants seen to fail are named at
each test.
"""

from __future__ import annotations

import errno
import io
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import sojourn
from sojourn import RunFailed, files
from sojourn.metrics import Metrics
from sojourn.results import Results
from sojourn.runner.archive import Archive
from sojourn.runner.execute import execute
from sojourn.runner.identity import read_rows, root, row_hash
from sojourn.runner.point import points
from sojourn.runner.sealed import HASH, NAME, Damaged, seal, table
from sojourn.runner.store import Store
from sojourn.study.axes import listed
from sojourn.study.sweep.model import Sweep
from sojourn.study.sweep.run import sweep
from support import SMALL, Cli

FLIPS = 300
TRACED = SMALL.replace('"6s"', '"2s"').replace('warmup = "2s"', 'warmup = "1s"')


def flips(content: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Yield `content` with one bit changed, `count` times."""
    draw = random.Random(seed)
    for _ in range(count):
        changed = bytearray(content)
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
        yield bytes(changed)


@pytest.fixture
def short(small: sojourn.Scenario) -> sojourn.Scenario:
    return small.with_(duration="2s", warmup="1s")


def test_no_changed_bit_of_a_chunk_changes_a_metric(short: sojourn.Scenario, tmp_path: Path) -> None:
    """Seen to fail: the hash not compared, the last kilobyte not hashed."""
    wanted = points(short, ["red", "droptail"], range(1, 21))
    whole = {one.point.run_id: one.metrics for one in execute(wanted, Store(tmp_path, traces=False))}
    chunks = sorted((tmp_path / "runs").iterdir())
    content = chunks[0].read_bytes()
    found: list[Metrics] = []
    for changed in flips(content, FLIPS, 1):
        chunks[0].write_bytes(changed)
        archive = Archive(tmp_path)
        found += [
            one.metrics for run_id in whole if (one := archive.read(run_id)) and one.metrics != whole[run_id]
        ]
        assert len(archive.run_ids) < len(whole), "the chunk is used"
    assert found == []


@pytest.mark.parametrize("kind", ["trace", "table"])
def test_no_changed_bit_of_a_table_is_read(kind: str, short: sojourn.Scenario, tmp_path: Path) -> None:
    """Seen to fail: a file with one of the two entries of the metadata treated as a file without a hash."""
    if kind == "trace":
        sojourn.run(short, ["red"], seeds=1, out=tmp_path)
        (path,) = (tmp_path / "traces").iterdir()
    else:
        sweep(Sweep(short, ["red"], [listed("queue.limit", "20p,30p")], seeds=2), out=tmp_path)
        path = tmp_path / "runs.parquet"
    content = path.read_bytes()
    name = path.stem if kind == "trace" else path.name
    assert table(content, name).is_sealed
    entries = content.index(NAME.encode())
    every = (
        bytes([*content[:i], content[i] ^ 1 << bit, *content[i + 1 :]])
        for i in range(entries, entries + 120)
        for bit in range(8)
    )
    for changed in (*flips(content, FLIPS, 2), *every):
        with pytest.raises(Damaged):
            table(changed, name)
    with pytest.raises(Damaged, match="it belongs to another table"):
        table(content, "another")


@pytest.mark.parametrize("entry", [NAME, HASH])
def test_a_file_with_one_of_the_two_entries_is_damaged(entry: str) -> None:
    """Seen to fail: each entry not looked for, or a file is damaged only if it has both."""
    buffer = io.BytesIO()
    pl.DataFrame({"a": [1]}).write_parquet(buffer, metadata={entry: "x"})
    with pytest.raises(Damaged, match="its hash is damaged"):
        table(buffer.getvalue())


def test_a_table_of_another_program_is_read_and_reported(
    short: sojourn.Scenario, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The same holds for a folder of Sojourn 0.1, whose rows have no hashes."""
    first = sojourn.run(short, ["red"], seeds=2, out=tmp_path)
    for path in (tmp_path / "runs").iterdir():
        frame = pl.read_parquet(path).drop("hash", "traces")
        frame.write_parquet(path)
    for path in (tmp_path / "traces").iterdir():
        pl.read_parquet(path).write_parquet(path)
    again = sojourn.run(short, ["red"], seeds=2, out=tmp_path)
    assert not any(one.fresh for one in again.outcomes)
    assert (again.to_json(), again.id) == (first.to_json(), first.id)
    assert [one.getMessage().partition(", so")[0] for one in caplog.records] == [
        f"{tmp_path / 'runs'}: 2 files have no hashes"
    ]
    (path, _) = sorted((tmp_path / "runs").iterdir())
    pl.read_parquet(path).rename({"p99_delay_s": "p99_delay_t"}).write_parquet(path)
    (one, two) = sorted(
        sojourn.run(short, ["red"], seeds=2, out=tmp_path).outcomes, key=lambda o: o.point.run_id
    )
    assert (one.fresh, two.fresh) == (True, False)


def test_damaged_files_are_renamed_and_their_runs_repeated(cli: Cli, tmp_path: Path) -> None:
    """Damaged files of runs and of traces. Seen to fail: only the existence of a trace is checked."""
    (tmp_path / "s.toml").write_text(TRACED)
    words = ("run", "s.toml", "--aqm", "droptail", "--seeds", "2", "--out", "out", "--json")
    first = cli(*words)
    shown = json.loads((tmp_path / "out/manifest.json").read_text())["runs"][0]["run_id"]
    for folder in ("traces", "runs"):
        path = tmp_path / "out" / folder / f"{shown}.parquet"
        path.write_bytes(path.read_bytes()[:500])
        for command in ("report", "run"):
            done = cli("report", "out") if command == "report" else cli(*words)
            assert path.name in done.stderr, (folder, command)
            assert (done.returncode == 0) is (command == "run"), done.stderr
            if command == "report":
                assert "cannot be read" in done.stderr or "1 of 2 runs are done" in done.stderr
                assert not list(path.parent.glob("*.damaged")), "a reading command has renamed it"
        assert f"{path.name} is damaged" in done.stderr
        assert done.stdout == first.stdout
        assert path.with_name(f"{path.name}.damaged").exists()
        assert cli(*words).stderr.count("damaged") == 0


def test_a_lost_trace_is_recomputed(short: sojourn.Scenario, tmp_path: Path) -> None:
    """Seen to fail: a missing table over time is read as an empty one."""
    traced = short.with_(trace={"interval": "10ms", "drops": True})
    whole = sojourn.run(traced, ["red"], seeds=2, out=tmp_path).trace("drops")
    sorted((tmp_path / "traces").glob("*.drops.parquet"))[0].unlink()
    with pytest.raises(RunFailed, match=r"drops\.parquet: cannot be read: it is missing"):
        Results.open(tmp_path).trace("drops")
    again = sojourn.run(traced, ["red"], seeds=2, out=tmp_path)
    assert sum(one.fresh for one in again.outcomes) == 1
    assert again.trace("drops").equals(whole)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE, errno.ESTALE])
@pytest.mark.parametrize("command", ["sweep status out", "report out", "resume"])
def test_an_unreadable_file_is_not_damaged(cli: Cli, tmp_path: Path, command: str, number: int) -> None:
    """For example a file of another user. Seen to fail: every OSError of a read counts as damage."""
    (tmp_path / "s.toml").write_text(TRACED)
    make = "sweep s.toml -L queue.limit 20p,30p --seeds 2 --out out"
    assert cli(*make.split()).returncode == 0

    class Unreadable(files.LocalDisk):
        def read(self, path: Path) -> bytes:
            if path.parent.name == "runs":
                raise OSError(number, os.strerror(number), os.fspath(path))
            return super().read(path)

    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    with files.using(Unreadable()):
        done = cli(*(make if command == "resume" else command).split())
    assert done.returncode == 1
    assert ".parquet: cannot be read: " in done.stderr
    assert done.stderr.count("\n") == 1
    after = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    changed = {path.name for path in after if after[path] != before.get(path)}
    assert changed == set(), "something was written"
    assert cli(*make.split()).returncode == 0


@pytest.mark.parametrize("command", ["sweep status out", "report out"])
def test_a_reading_command_writes_its_page_only(cli: Cli, tmp_path: Path, command: str) -> None:
    (tmp_path / "s.toml").write_text(TRACED)
    assert (
        cli(*["sweep", "s.toml", "-L", "queue.limit", "20p,30p", "--seeds", "2", "--out", "out"]).returncode
        == 0
    )
    (chunk,) = (tmp_path / "out/runs").iterdir()
    chunk.write_bytes(chunk.read_bytes()[:-9])
    written = []

    class Watched(files.LocalDisk):
        def rename(self, source: Path, target: Path) -> None:
            written.append(target.name)
            super().rename(source, target)

        def make_folder(self, path: Path) -> None:
            raise AssertionError(path)

    with files.using(Watched()):
        done = cli(*command.split())
    assert done.returncode == 0
    assert f"{chunk.name} is damaged" in done.stderr
    assert written == (["report.html"] if command == "report out" else [])


def test_a_half_line_of_a_killed_process_is_left_out(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TRACED)
    assert cli(*["sweep", "s.toml", "--seeds", "2", "--out", "out"]).returncode == 0
    (tmp_path / "out/failures.jsonl").write_text('{"run_id": "x"')
    done = cli("sweep", "status", "out")
    assert (done.returncode, done.stdout) == (0, "2 of 2 runs are done, 0 failed\n")
    assert "failures.jsonl: line 1 is incomplete" in done.stderr


def test_a_refused_plan_leaves_no_folder(cli: Cli, tmp_path: Path) -> None:
    """Seen to fail: a plan without seeds, whose combinations were not checked."""
    (tmp_path / "s.toml").write_text(TRACED)
    done = cli("sweep", "s.toml", "--seeds", 0, "--out", "out")
    assert (done.returncode, (tmp_path / "out").exists()) == (2, False)
    assert "seeds = 0 is out of range" in done.stderr


def test_a_manifest_without_a_run_is_refused(cli: Cli, tmp_path: Path) -> None:
    """The seeds of two algorithms are compared in pairs."""
    (tmp_path / "s.toml").write_text(TRACED)
    words = ["compare", "s.toml", "--aqm", "red", "--aqm", "droptail", "--seeds", "2", "--out", "out"]
    assert cli(*words).returncode == 0
    path = tmp_path / "out/manifest.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps({**facts, "runs": facts["runs"][:3]}))
    done = cli("report", "out")
    assert (done.returncode, done.stderr) == (
        2,
        "sojourn: out/manifest.json does not have the same seeds of each of its algorithms\n",
    )


def test_a_manifest_that_lacks_a_key_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TRACED)
    words = [
        "tune",
        "s.toml",
        "--aqm",
        "red",
        "-P",
        "max_p",
        "--trials",
        "2",
        "--seeds",
        "2",
        "--confirm",
        "2",
    ]
    assert cli(*words, "--out", "out").returncode == 0
    facts = json.loads((tmp_path / "out/tune.json").read_text())
    (tmp_path / "out/tune.json").write_text(json.dumps({k: v for k, v in facts.items() if k != "baseline"}))
    done = cli("report", "out")
    assert (done.returncode, done.stderr) == (
        2,
        "sojourn: out/tune.json does not describe a tuning: KeyError: 'baseline'\n",
    )
    (tmp_path / "out/tune.json").write_text(json.dumps(facts))
    (tmp_path / "out/trials.parquet").write_bytes((tmp_path / "out/trials.parquet").read_bytes()[:-5])
    done = cli("report", "out")
    assert done.returncode == 1
    assert "trials.parquet: cannot be read: " in done.stderr


def test_a_report_on_a_full_disk_is_an_error(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TRACED)
    assert cli("run", "s.toml", "--seeds", 1, "--out", "out").returncode == 0
    before = (tmp_path / "out/report.html").read_bytes()

    class Full(files.LocalDisk):
        def write(self, path: Path, *_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))

    with files.using(Full()):
        done = cli("report", "out")
    assert (done.returncode, done.stderr) == (
        1,
        "sojourn: out/report.html: cannot be written: no space left on device\n",
    )
    assert (tmp_path / "out/report.html").read_bytes() == before


def test_samples_of_another_queue_are_refused(short: sojourn.Scenario, tmp_path: Path) -> None:
    """Only a file without a hash can contain them: any other one does not verify."""
    sojourn.run(short, ["red"], seeds=1, out=tmp_path)
    (path,) = (tmp_path / "traces").iterdir()
    frame = pl.read_parquet(path)
    pl.concat([frame, frame.with_columns(queue=pl.lit("more"))]).write_parquet(path)
    with pytest.raises(RunFailed, match="samples of a queue that is not in the record"):
        Results.open(tmp_path).trace()


def test_the_id_depends_on_the_rows_only(short: sojourn.Scenario, tmp_path: Path) -> None:
    """Order, files and traces have no effect. Seen to fail: leaves in the order of the runs."""
    ids = {
        sojourn.run(short, aqms, seeds=2, out=tmp_path / name, keep_traces=kept).id
        for name, aqms, kept in (
            ("a", ["red", "droptail"], "all"),
            ("b", ["droptail", "red"], "all"),
            ("c", ["red", "droptail"], "none"),
        )
    }
    assert len(ids) == 1
    (only,) = ids
    assert str(only).startswith("sojourn:")
    assert json.loads((tmp_path / "a/manifest.json").read_text())["id"] == only
    leaves = read_rows(tmp_path / "c")
    assert leaves is not None
    assert str(only).removeprefix("sojourn:") == root(leaves)[:40]
    archive = Archive(tmp_path / "c")
    assert leaves == {run_id: archive.computed_hash(run_id) for run_id in archive.run_ids}
    more = sojourn.run(short, ["red", "droptail"], seeds=3, out=tmp_path / "a").id
    assert more != only
    assert sojourn.run(short, ["red", "droptail"], seeds=2, out=tmp_path / "a").id == only


def test_every_value_of_a_row_is_hashed() -> None:
    facts = dict.fromkeys(
        ("run_id", "aqm", "world", "core_version", "metrics_version", "reduced", "plan"), "x"
    ) | {"seed": 1}
    data = {"window": (0, 1), "events": 1, "queues": [{"name": "q", "arrivals": 1, "delay": b"1"}]}
    known = row_hash(facts, {"a": 1.0, "b": None}, data)
    assert known == row_hash(facts, {"b": None, "a": 1}, {**data, "hosts": {}, "series": b"left out"})
    others = [row_hash({**facts, name: "y"}, {"a": 1.0, "b": None}, data) for name in facts]
    others += [
        row_hash(facts, metrics, data)
        for metrics in ({"a": 1.0}, {"a": None, "b": 1.0}, {"a": -1.0, "b": None})
    ]
    others.append(row_hash(facts, {"a": 1.0, "b": None}, {**data, "events": 2}))
    assert len({known, *others}) == 1 + len(others)


def test_the_seal_is_in_the_file(tmp_path: Path) -> None:
    """Therefore files may be copied and renamed, and any reader of Parquet can read them."""
    frame = pl.DataFrame({"a": [1, 2], "b": ["sojourn.sha256", "0" * 64]})
    content = seal(frame, "name")
    (tmp_path / "x.parquet").write_bytes(content)
    assert pl.read_parquet(tmp_path / "x.parquet").equals(frame)
    assert table(content, "name").frame.equals(frame)
    assert not table(
        Path(tmp_path / "x.parquet").read_bytes().replace(b"sojourn.", b"nothing."), "name"
    ).is_sealed
