"""``sojourn verify``: an unchanged archive verifies, and every kind of change is reported.

Mutants seen to fail are listed at each test.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from sojourn import InputError, _core
from sojourn.runner.archive import Archive
from sojourn.runner.identity import keep_rows, row_hash
from sojourn.runner.sealed import seal
from sojourn.study.verify import Sample, verify
from support import SMALL, Cli

SHORT = SMALL.replace('"6s"', '"2s"').replace('warmup = "2s"', 'warmup = "1s"')
MADE = {
    "run": "run s.toml --seeds 3",
    "compare": "compare s.toml --aqm red --aqm droptail --seeds 2",
    "sweep": "sweep s.toml -L queue.limit 20p,30p --seeds 2",
    "tune": "tune s.toml --aqm red -P max_p --trials 2 --seeds 2 --confirm 2",
    "fluid": "run s.toml --world fluid",
}

#: The runs of each folder; a tuning has those of its trials and of its confirmation.
RUNS = {"run": 3, "compare": 4, "sweep": 4, "tune": 6, "fluid": 1}

MINE = """
import sojourn


class Mine(sojourn.Aqm):
    '''Accepts every packet.'''

    def on_arrival(self, now, packet, queue, rng):
        return sojourn.PASS
"""


@pytest.fixture
def made(cli: Cli, tmp_path: Path) -> Path:
    """A finished sweep of 4 runs in one file."""
    (tmp_path / "s.toml").write_text(SHORT)
    assert cli(*MADE["sweep"].split(), "--out", "out").returncode == 0
    return tmp_path / "out"


@pytest.mark.parametrize("kind", MADE)
def test_results_of_commands_verify(cli: Cli, tmp_path: Path, kind: str) -> None:
    (tmp_path / "s.toml").write_text(SHORT)
    done = cli(*MADE[kind].split(), "--out", "out")
    assert done.returncode == 0, done.stderr
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    manifest = tmp_path / "out" / ("tune.json" if kind == "tune" else "manifest.json")
    assert {"python", "packages", "platform", "host"} <= set(json.loads(manifest.read_text()))
    verified = cli("verify", "out", "--sample", "100%", "--json")
    assert (verified.returncode, verified.stderr) == (0, "")
    found = json.loads(verified.stdout)
    assert f"id: {found['id']}\n" in done.stderr
    assert found["repeated"] == found["eligible"] == found["rows"] > 0
    assert (found["differences"], found["skipped"], found["unsealed"]) == ([], {}, 0)
    rerun = cli("rerun", "out", "--json")
    again = json.loads(rerun.stdout)
    assert (rerun.returncode, again["equal"], again["runs"]) == (0, True, RUNS[kind])
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_a_rerun_fails_if_a_value_differs_or_a_run_is_not_repeated(
    made: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants seen to fail: runs of another world not counted; a difference does not change the exit code."""
    run_id = forge(made, "mean_delay_s")
    done = cli("rerun", "out")
    assert (done.returncode, "repeated: 4 of 4 runs" in done.stdout) == (1, True)
    assert f"sojourn: {run_id}: mean_delay_s: stored " in done.stderr
    assert "sojourn: the results were not confirmed" in done.stderr
    monkeypatch.setattr("sojourn.study.verify._case", lambda *_: None)
    done = cli("rerun", "out")
    assert done.returncode == 1
    assert "not repeated: 4 runs whose inputs are not in the folder, or have changed" in done.stdout
    refused = cli("rerun", "nothing")
    assert (refused.returncode, refused.stderr) == (
        2,
        "sojourn: nothing is not a results folder: it has no finished runs\n",
    )


def forge(folder: Path, column: str) -> str:
    """Change a value of the first run and write file, hashes, leaves and id as if it had been measured."""
    (path,) = (folder / "runs").iterdir()
    frame = pl.read_parquet(path)
    run_id = str(frame["run_id"][0])
    frame = frame.with_columns(
        pl.when(pl.col("run_id") == run_id).then(pl.col(column) * 2).otherwise(pl.col(column)).alias(column)
    )
    path.write_bytes(seal(frame))
    archive = Archive(folder)
    hashes = {one: archive.computed_hash(one) for one in archive.run_ids}
    path.write_bytes(seal(frame.with_columns(pl.col("run_id").replace_strict(hashes).alias("hash"))))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["id"] = keep_rows(folder, hashes)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return run_id


@pytest.mark.parametrize("column", ["mean_delay_s", "events"])
def test_a_forged_value_is_found_by_repeating_the_run(made: Path, cli: Cli, column: str) -> None:
    """All hashes match. Seen to fail: metrics, or counters, not compared."""
    run_id = forge(made, column)
    assert verify(made, "0").differences == []
    done = cli("verify", "out", "--sample", "100%")
    assert done.returncode == 1
    assert f"sojourn: {run_id}: {column}: stored " in done.stderr
    assert "differences: 1\n" in done.stdout
    (one,) = verify(made, "4").differences
    assert (one.where, one.column) == (run_id, column)


def test_each_hash_is_recomputed(made: Path) -> None:
    """Seen to fail: the row hashes, the leaves, or the id, not compared."""
    (path,) = (made / "runs").iterdir()
    whole = path.read_bytes()
    frame = pl.read_parquet(path)
    path.write_bytes(bytes([*whole[:20], whole[20] ^ 1, *whole[21:]]))
    assert {one.column for one in verify(made, "0").differences} == {"content", "hash", "id"}
    path.write_bytes(seal(frame.with_columns(pl.col("mean_delay_s") * 2)))
    changed = [one.column for one in verify(made, "0").differences]
    assert sorted(changed) == ["hash"] * 8 + ["id"], (
        "the four rows differ from their hashes and from the leaves"
    )
    path.write_bytes(seal(frame[1:]))
    missing = verify(made, "0").differences
    assert [one.recomputed for one in missing if one.column == "hash"] == ["the run is missing"]
    path.write_bytes(whole)
    manifest = (made / "manifest.json").read_text()
    (made / "manifest.json").write_text(manifest.replace("sojourn:", "sojourn:0"))
    assert [one.column for one in verify(made, "0").differences] == ["id"]
    (made / "manifest.json").write_text(manifest)
    (made / "rows.parquet").unlink()
    assert [one.recomputed for one in verify(made, "0").differences] == ["the file is missing"]
    summary = made / "summary.parquet"
    content = summary.read_bytes()
    summary.write_bytes(bytes([*content[:20], content[20] ^ 1, *content[21:]]))
    assert str(summary) in {one.where for one in verify(made, "0").differences}


def test_runs_that_cannot_be_repeated_are_counted(
    made: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Runs of another core, of real packets, and of code that is not permitted."""
    monkeypatch.setattr(_core, "CORE_VERSION", "another")
    found = verify(made, "100%")
    assert (found.repeated, found.differences) == (0, [])
    assert list(found.skipped.values()) == [4]
    assert "this is core another" in next(iter(found.skipped))
    monkeypatch.undo()
    (path,) = (made / "runs").iterdir()
    frame = pl.read_parquet(path)
    archive = Archive(made)
    rows = [archive.counters(one) for one in frame["run_id"]]
    real = frame.with_columns(world=pl.lit("real"))
    facts = real.rows(named=True)
    hashes = [
        row_hash(one, {name: one[name] for name in json.loads(one["metrics"])}, row)
        for one, row in zip(facts, rows, strict=True)
    ]
    path.write_bytes(seal(real.with_columns(hash=pl.Series(hashes))))
    found = verify(made, "100%")
    assert dict(found.skipped) == {"of the real world, which is not deterministic": 4}
    (tmp_path / "mine.py").write_text(MINE)
    assert cli("run", "s.toml", "--aqm", "mine.py:Mine", "--seeds", 1, "--out", "own").returncode == 0
    done = cli("verify", "own", "--sample", "100%")
    assert done.returncode == 0
    assert "not verifiable: 1 runs of Python code" in done.stdout
    done = cli("verify", "own", "--sample", "100%", "--allow-code")
    assert (done.returncode, "repeated: 1 of 1 runs\n" in done.stdout) == (0, True), done.stdout


def test_the_sample_is_the_same_each_time(made: Path) -> None:
    assert [Sample.parse(text).of(4) for text in ("5%", "100%", "3", "0", "9", "0%")] == [1, 4, 3, 0, 4, 0]
    assert [verify(made, "2").repeated for _ in range(2)] == [2, 2]
    for text in ("x", "-1", "101%", "5%%", "inf%"):
        with pytest.raises(InputError, match="is not a sample"):
            Sample.parse(text)


def test_a_folder_without_runs_is_refused(cli: Cli) -> None:
    for name in (".", "nowhere"):
        done = cli("verify", name)
        assert (done.returncode, "is not a results folder" in done.stderr) == (2, True)
