"""The command line: exit codes, and what is written to which stream.

Most commands run in the process of the tests. A few start the program: tests of start-up, signals, closed
streams and limits of the system, and the comparison of both ways.

Mutants seen to fail: a warning printed to standard output; exit code 1 for bad input; the temporary name
of a file left out; polars imported before it is needed; a manifest without arguments.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from sojourn import _core
from sojourn.cli.common import resumable
from sojourn.metrics import METRICS
from sojourn.results import Results
from sojourn.study.compare import Comparison
from support import ROOT, SMALL, Cli

NAMES = [
    *(
        "utilization",
        "throughput_bps",
        "goodput_bps",
        "arrivals",
        "drops",
        "marks",
        "drop_ratio",
        "mark_ratio",
    ),
    *("mean_queue_packets", "std_queue_packets", "mean_delay_s", "std_delay_s", "p99_delay_s"),
    *("mean_drop_run", "idle_share", "timeouts", "jain_index"),
]


def test_run_prints_one_object(cli: Cli, small_file: Path) -> None:
    done = cli(
        "run", small_file, "--aqm", "droptail", "--aqm", "red  max_th 15 min_th 5", "--seeds", 2, "--json"
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert [(one["aqm"], one["seed"]) for one in result["runs"]] == [
        ("droptail", 1),
        ("droptail", 2),
        ("red min_th 5p max_th 15p", 1),
        ("red min_th 5p max_th 15p", 2),
    ]
    for one in result["runs"]:
        assert set(NAMES) <= set(one["metrics"])
        assert {"ftp.goodput_bps", "cbr.goodput_bps", "tcp.drop_ratio", "udp.drop_ratio"} <= set(
            one["metrics"]
        )
        assert all(value is None or isinstance(value, float) for value in one["metrics"].values())
    assert set(result["summary"]) == {"droptail", "red min_th 5p max_th 15p"}
    for name in NAMES:
        assert set(result["summary"]["droptail"][name]) == {"mean", "ci95", "n"}
    values = [one["metrics"]["mean_delay_s"] for one in result["runs"][:2]]
    assert result["summary"]["droptail"]["mean_delay_s"]["mean"] == pytest.approx(sum(values) / 2)
    assert result["summary"]["droptail"]["mean_delay_s"]["n"] == 2


def test_one_seed_has_no_interval(cli: Cli, small_file: Path) -> None:
    done = cli("run", small_file, "--seeds", 1, "--seed-from", 7, "--json")
    result = json.loads(done.stdout)
    assert [one["seed"] for one in result["runs"]] == [7]
    (summary,) = result["summary"].values()
    assert summary["utilization"]["ci95"] is None


def test_the_results_directory_is_self_describing(cli: Cli, small_file: Path, tmp_path: Path) -> None:
    done = cli("run", small_file, "--seeds", 2)
    assert done.returncode == 0, done.stderr
    assert "utilization (%)" in done.stdout
    assert "\x1b" not in done.stdout
    (folder,) = (tmp_path / "results").iterdir()
    assert folder.name.startswith("small-")
    assert {path.name for path in folder.iterdir()} == {
        "manifest.json",
        "report.html",
        "rows.parquet",
        "schema.json",
        "runs",
        "scenario.toml",
        "traces",
    }
    assert len(list((folder / "runs").glob("*.parquet"))) == 2
    assert len(list((folder / "traces").glob("*.parquet"))) == 2
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    assert manifest["core_version"] == _core.CORE_VERSION
    assert manifest["packages"] == {name: version(name) for name in ("numpy", "polars", "scipy")}
    assert manifest["command"] == f"sojourn run {small_file} --seeds 2"
    assert f"report: {Path('results') / folder.name / 'report.html'}" in done.stderr
    again = cli("run", folder / "scenario.toml", "--seeds", 2, "--out", folder)
    assert again.returncode == 0, again.stderr
    assert len(list((folder / "runs").iterdir())) == 2, "the resolved scenario names the same runs"


def test_the_report_of_a_reproduction_is_refused_with_its_command(cli: Cli, tmp_path: Path) -> None:
    """Mutant seen to fail: the folder is read as one of runs."""
    facts = {"paper": "raqm2005", "quick": True, "runs": {}}
    (tmp_path / "manifest.json").write_text(json.dumps(facts), encoding="utf-8")
    done = cli("report", str(tmp_path))
    assert done.returncode == 2
    assert f"allowed: sojourn reproduce raqm2005 --quick --out {tmp_path}, which keeps" in done.stderr


def test_a_report_is_regenerated(cli: Cli, small_file: Path, tmp_path: Path) -> None:
    cli("run", small_file, "--seeds", 2, "--out", "out")
    page = tmp_path / "out/report.html"
    first = page.read_bytes()
    page.unlink()
    done = cli("report", "out")
    assert (done.returncode, done.stdout.strip()) == (0, "out/report.html")
    assert page.read_bytes() == first


def test_compare_prints_differences_and_regenerates_its_report(
    cli: Cli, small_file: Path, tmp_path: Path
) -> None:
    words = ["compare", small_file, "--aqm", "droptail", "--aqm", "red", "--seeds", 2, "--out", "out"]
    done = cli(*words, "--baseline", "red", "--sort", "utilization", "--json")
    assert done.returncode == 0, done.stderr
    comparison = json.loads(done.stdout)["comparison"]
    assert comparison["baseline"] == "red"
    assert comparison["sort"] == "utilization"
    assert {row["verdict"] for row in comparison["rows"]} >= {"baseline"}
    before = (tmp_path / "out/report.html").read_text()
    assert "Against the baseline" in before
    assert cli("report", "out").returncode == 0
    assert (tmp_path / "out/report.html").read_text() == before
    assert "Difference from droptail (baseline)" in cli(*words).stdout


def test_compare_selected_metrics(cli: Cli, small_file: Path, tmp_path: Path) -> None:
    """Mutants seen to fail: always sorted by delay; the selection not stored in the results directory."""
    words = ["compare", small_file, "--aqm", "droptail", "--aqm", "red", "--seeds", 2, "--out", "out"]
    done = cli(*words, "--metric", "ftp.goodput_bps", "--metric", "timeouts", "--json")
    assert done.returncode == 0, done.stderr
    comparison = json.loads(done.stdout)["comparison"]
    assert comparison["sort"] == "ftp.goodput_bps"
    assert [row["metric"] for row in comparison["rows"]] == ["ftp.goodput_bps", "timeouts"] * 2
    again = Comparison.of(Results.open(tmp_path / "out"))
    assert again is not None
    assert again.metrics == ["ftp.goodput_bps", "timeouts"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--until-ci", "5"], "until-ci = 5 is out of range"),
        (["--until-ci", "narrow"], "until-ci = 'narrow' is not a share"),
        (["--baseline", "pie"], "baseline = 'pie' is not one of the algorithms"),
        (["--sort", "dealy"], "sort = 'dealy' is not a metric"),
        (["--metric", "dealy"], "metric = 'dealy' is not a metric"),
        (["--sort", "ftp.goodput_bp"], "did you mean ftp.goodput_bps?"),
        (["--on", "mean_delay_s"], "on requires until-ci"),
    ],
)
def test_compare_refuses(cli: Cli, small_file: Path, tmp_path: Path, words: list[str], expected: str) -> None:
    done = cli("compare", small_file, "--aqm", "droptail", "--aqm", "red", *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert expected in done.stderr
    assert not (tmp_path / "results").exists()


def test_all_papers_that_have_a_world_are_re_run_and_listed(cli: Cli, tmp_path: Path) -> None:
    done = cli("reproduce", "all", "--world", "analytic", "--out", "all", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    names = [one["paper"] for one in found["papers"]]
    assert {"raqm2005", "ldc2002"} <= set(names)
    page = (tmp_path / found["index"]).read_text("utf-8")
    assert all(f'href="./{name}/report.html"' in page for name in names)
    assert "sojourn reproduce all --world analytic" in page
    wrong = cli("reproduce", "all", "--world", "analytical")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "did you mean analytic?" in wrong.stderr


def test_warnings_are_not_the_result(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "idle.toml").write_text(
        SMALL.replace("count = 6", "count = 1\ntcp = { receiver_window = 1 }")
    )
    done = cli("run", "idle.toml", "--seeds", 1, "--json")
    assert json.loads(done.stdout)["warnings"]
    assert (
        "sojourn: warning: red min_th 5p max_th 15p: the measured queue R1-R2 is not the bottleneck"
        in done.stderr
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "none.toml"], "none.toml cannot be read: no such file"),
        (["run", "small.toml", "--aqm", "red", "min_th", "5p"], 'needs quotes: --aqm "red min_th 5p'),
        (["shell", "--rate", "1mbit", "ping", "-c", "1"], "options follow --: sojourn shell"),
        (["reproduce", "raqm"], "did you mean raqm2005?"),
        (["run", "smal.toml"], "no such file or directory (did you mean small.toml?)"),
        (["run", "."], ". cannot be read: is a directory"),
        (
            ["run", "bad.toml"],
            "bad.toml:8:1: dumbbell.rate = '0Mbit/s' is less than 1 bit/s; allowed: a rate",
        ),
        (["run", "small.toml", "--aqm", "rde"], "is not an algorithm (did you mean red?)"),
        (["run", "small.toml", "--aqm", "red min_th 9 max_th 3"], "red.max_th is not above min_th"),
        (["run", "small.toml", "--aqm", "red targte 3"], "red.targte is not a parameter"),
        (["run", "small.toml", "--seeds", "0"], "seeds = 0 is out of range"),
        (["run", "small.toml", "--seeds", "many"], "--seeds"),
        (["run", "small.toml", "--seeds", "99999999999"], "out of range"),
        (["run", "small.toml", "--workers", "0"], "workers = 0"),
        (["run", "small.toml", "--sedes", "3"], "--seeds"),
        (["run", "small.toml", "more.toml"], "more.toml"),
        (["run"], "FILE"),
        (["rnu"], "run"),
        (["explain", "rdx"], "'rdx' has no explanation"),
        (["explain", "p99_dleay_s"], "did you mean p99_delay_s?"),
        (["reproduce", "raqm2006"], "did you mean raqm2005?"),
        (["reproduce", "raqm2005", "--experiment", "raqm-fig88"], "raqm-fig"),
        (["reproduce", "raqm2005", "--world", "moon"], "moon"),
        (["design", "pi", "--target", "-5"], "--target = -5 is not positive"),
        (["design", "pie", "--target", "5"], "--target is for pi, not for pie"),
        (["design", "pei", "--target", "5"], "'pei' is not a rule"),
        (["tune", "small.toml", "--sampler-seed", "-1"], "sampler_seed = -1 is out of range"),
        (["tune", "small.toml", "-L", "gentle", "on,maybe"], "gentle = 'maybe' is not on or off"),
        (["tune", "small.toml", "-L", "max_p", "0.1,2"], "red.max_p = 2 is out of range"),
        (["report", "."], "is not a results folder"),
        (["report", "nowhere"], "is not a results folder"),
        (["report", "small.toml"], "is not a results folder"),
        (["run", "small.toml", "--out", "small.toml"], "small.toml"),
        (["run", "small.toml", "--out", "small.toml/deeper"], "cannot be written"),
        (["run", "small.toml", "--out", "/proc/nothing"], "cannot be written"),
        # Python takes an empty path for the working directory.
        *(
            ([*words.split(), "--out", ""], "--out is empty; allowed: a folder")
            for words in (
                "run small.toml",
                "compare small.toml --aqm red --aqm pie",
                "compare-worlds small.toml",
                "sweep small.toml -L queue.limit 20p,30p",
                "tune small.toml",
                "reproduce raqm2005 --quick",
                "shell --rate 1mbit",
            )
        ),
        (["run", "small.toml", "--out="], "--out is empty"),
        (["stability", "pi", "--out", ""], "--out is empty; allowed: a file with the ending .svg or .html"),
        (["run", ""], "FILE is empty"),
        (["report", ""], "DIR is empty"),
        (["sweep", "status", ""], "DIR is empty"),
    ],
)
def test_bad_usage_is_one_line_and_code_2(
    cli: Cli, small_file: Path, tmp_path: Path, words: list[str], expected: str
) -> None:
    (tmp_path / "bad.toml").write_text(SMALL.replace("2Mbit/s", "0Mbit/s"))
    before = sorted(tmp_path.rglob("*"))
    done = cli(*words)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert expected in done.stderr
    assert done.stderr.startswith("sojourn: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert sorted(tmp_path.rglob("*")) == before, "no file remains"
    assert small_file.read_text() == SMALL


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["run", "small.toml", "--aqm", "droptail", "--aqm", "red", "--seeds", 2, "--json"], 0),
        (["run", "small.toml", "--seeds", 2], 0),
        (["list"], 0),
        (["run", "--help"], 0),
        (["run", "small.toml", "--aqm", "red targte 3"], 2),
        (["run", "small.toml", "--sedes", "3"], 2),
        (["rnu"], 2),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("small_file")
def test_a_separate_process_gives_the_same_result(
    cli: Cli, process: Cli, tmp_path: Path, words: list[object], code: int
) -> None:
    """Exit code, both streams and the manifest's command are equal."""
    said = []
    for run in (process, cli):
        done = run(*words)
        commands = [
            json.loads(one.read_text())["command"] for one in tmp_path.glob("results/*/manifest.json")
        ]
        said.append((done.returncode, done.stdout, done.stderr, commands))
        shutil.rmtree(tmp_path / "results", ignore_errors=True)
    assert said[0] == said[1]
    assert said[0][0] == code


@pytest.mark.parametrize(("closed", "words", "code"), [("1", "list", 0), ("2", "run none.toml", 2)])
def test_a_closed_output_stream_is_no_error(tmp_path: Path, closed: str, words: str, code: int) -> None:
    shell = f'"{sys.executable}" -m sojourn {words} {closed}>&-'
    done = subprocess.run(
        ["sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_a_folder_without_permission(cli: Cli, small_file: Path, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.geteuid() == 0:
        # Root may write everywhere except on a read-only file system.
        locked = Path("/proc/sys")
    done = cli("run", small_file, "--out", locked / "out")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_one_line_and_leaves_no_half_result(small_file: Path, tmp_path: Path) -> None:
    def almost_full() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    words = [sys.executable, "-m", "sojourn", "run", str(small_file), "--out", "out", "--seeds", "2"]
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, preexec_fn=almost_full, timeout=60, check=False
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "file too large" in done.stderr
    assert not list((tmp_path / "out/runs").iterdir())
    assert not [path for path in (tmp_path / "out").rglob("*") if path.suffix == ".tmp"]
    opened = subprocess.run(
        [sys.executable, "-m", "sojourn", "report", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert opened.returncode == 2
    assert "is not complete: 0 of 2 runs" in opened.stderr


def doomed(number: signal.Signals, runs: int, *words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line, which signals itself at a given number of runs on disk."""
    return subprocess.run(
        [sys.executable, ROOT / "tests/cli/doomed.py", number.name, str(runs), *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_finished_runs_and_prints_how_to_continue(
    number: signal.Signals, small_file: Path, tmp_path: Path
) -> None:
    slow = SMALL.replace('"6s"', '"60s"').replace("count = 6", "count = 200").replace("2Mbit/s", "100Mbit/s")
    small_file.write_text(slow.replace("10Mbit/s", "100Mbit/s"))
    words = ["run", small_file, "--out", "out", "--workers", 1, "--seeds"]
    stopped = doomed(number, 1, *words, 40, cwd=tmp_path)
    assert stopped.returncode == 128 + number, stopped.stderr
    by = "" if number == signal.SIGINT else f" by {number.name}"
    assert f"interrupted{by}; finished runs are kept" in stopped.stderr
    assert not (tmp_path / "out/leases").exists()
    assert stopped.stdout == ""
    assert f"  sojourn run {small_file} --out out --workers 1 --seeds 40" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    runs = tmp_path / "out/runs"
    done = {path: path.stat().st_mtime_ns for path in runs.glob("*.parquet")}
    assert 1 <= len(done) < 40
    assert not [path for path in runs.iterdir() if path.suffix == ".tmp"]
    assert json.loads((tmp_path / "out/manifest.json").read_text())["status"] == "interrupted"
    again = [sys.executable, "-m", "sojourn", *map(str, words), "2"]
    assert subprocess.run(again, cwd=tmp_path, capture_output=True, timeout=100, check=False).returncode == 0
    assert {path: path.stat().st_mtime_ns for path in done} == done, "no run is repeated"


@pytest.mark.parametrize(
    ("words", "manifest"),
    [
        (["compare", "small.toml", "--aqm", "droptail", "--aqm", "red", "--seeds", 9], "manifest.json"),
        (["sweep", "small.toml", "-L", "queue.limit", "10p,20p,30p", "--seeds", 9], "manifest.json"),
        (["tune", "small.toml", "--aqm", "red", "-P", "max_p", "--trials", 4, "--seeds", 3], "tune.json"),
        (["reproduce", "raqm2005", "--experiment", "raqm-fig5a", "--quick"], "manifest.json"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_sigterm_is_ctrl_c_for_every_study(
    words: list[object], manifest: str, small_file: Path, tmp_path: Path
) -> None:
    stopped = doomed(signal.SIGTERM, 1, *words, "--out", "out", "--workers", 1, cwd=tmp_path)
    assert stopped.returncode == 128 + signal.SIGTERM, stopped.stderr
    assert f"Continue with:\n  sojourn {words[0]} " in stopped.stderr
    assert json.loads((tmp_path / "out" / manifest).read_text())["status"] == "interrupted"
    assert list((tmp_path / "out/runs").glob("*.parquet"))
    assert small_file.exists()


def test_a_signal_that_is_ignored_stays_ignored_and_the_first_one_counts() -> None:
    @resumable()
    def work() -> None:
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)  # while results are stored

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        with pytest.raises(SystemExit) as ended:
            work()
        assert ended.value.code == 128 + signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)


def test_ctrl_c_is_reported_if_nothing_is_stored(tmp_path: Path) -> None:
    # The process interrupts itself, so that no time is measured.
    code = (
        "import signal, sojourn.worlds.fluid.linear as linear\n"
        "from sojourn.cli import call\n"
        "linear.loop = lambda *_, **__: signal.raise_signal(signal.SIGINT)\n"
        "raise SystemExit(call(['stability', 'pi']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "sojourn: interrupted\n")


def test_a_sweep_killed_twice_loses_nothing(cli: Cli, small_file: Path, tmp_path: Path) -> None:
    words = ["sweep", small_file, "--seeds", 10, "-L", "queue.limit", "20p,100p"]
    words += ["--aqm", "droptail", "--aqm", "red", "--json", "--out"]
    runs = tmp_path / "out/runs"
    for done in (3, 10):
        killed = doomed(
            signal.SIGKILL, done - len(list(runs.glob("*.parquet"))), *words, "out", "--serial", cwd=tmp_path
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert len(list(runs.glob("*.parquet"))) == done
        assert len([path for path in runs.iterdir() if path.suffix == ".tmp"]) >= 1
    times = {path: path.stat().st_mtime_ns for path in runs.glob("*.parquet")}
    resumed = cli(*words, "out")
    assert {path: path.stat().st_mtime_ns for path in times} == times, "no run is repeated"
    assert resumed.stdout == cli(*words, "new").stdout, resumed.stderr
    assert len(json.loads(resumed.stdout)["runs"]) == 40


def test_sweep_status_and_dry_run(cli: Cli, small_file: Path, tmp_path: Path) -> None:
    words = ["sweep", small_file, "-P", "queue.limit", "10p:20p:2", "--seeds", 2]
    trial = cli(*words, "--dry-run", "--json")
    assert json.loads(trial.stdout)["runs"] == 4
    assert not (tmp_path / "results").exists()
    assert "10p" in cli(*words, "--out", "out").stdout
    assert json.loads(cli("sweep", "status", "out", "--json").stdout)["done"] == 4
    assert "4 of 4 runs are done, 0 failed" in cli("sweep", "status", "out").stdout
    assert cli("sweep", "out/sweep.toml", "--out", "out", "--json").returncode == 0


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-P", "queue.limit"], "queue.limit has no values"),
        (["-P", "queue.limit", "10p"], "is not a range"),
        (["-L", "queue.limt", "10p"], "did you mean limit"),
        (["--metric", "dealy", "--seeds", "1"], "metric = 'dealy' is not a metric"),
        (["--metric", "page_time_p50_s", "--seeds", "1"], "'page_time_p50_s' has no value here"),
        (["--sbatch", "2", "--shard", "1/2"], "one of the two"),
        (["extra"], "extra is one argument too many"),
    ],
)
def test_sweep_refuses(cli: Cli, small_file: Path, words: list[str], expected: str) -> None:
    done = cli("sweep", small_file, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert expected in done.stderr
    Path(small_file.parent, "plan.toml").write_text('[vary]\n"queue.limit" = ["10p"]\n')
    assert "plan.toml: scenario is missing" in cli("sweep", "plan.toml").stderr
    assert cli("sweep", "status").returncode == 2
    assert "is not the directory of a sweep" in cli("sweep", "status", ".").stderr


EVERYTHING = [*_core.algorithms(), *_core.schedulers(), *_core.markers()]


def test_list_comes_from_the_registry(cli: Cli) -> None:
    done = cli("list", "--json")
    listed = json.loads(done.stdout)
    assert [one["name"] for one in listed["algorithms"]] == [one["name"] for one in _core.algorithms()]
    for one in listed["algorithms"]:
        for param in one["params"]:
            assert {"name", "kind", "unit", "default", "range", "doc", "source", "tc"} <= set(param)
    assert "raqm2005" in listed["papers"]
    assert [one["name"] for one in listed["schedulers"]] == [one["name"] for one in _core.schedulers()]
    assert [one["name"] for one in listed["markers"]] == [one["name"] for one in _core.markers()]
    plain = cli("list").stdout
    assert all(one["name"] in plain for one in EVERYTHING)
    assert all(f" {paper} " in plain for paper in listed["papers"])


@pytest.mark.parametrize("algorithm", EVERYTHING, ids=lambda a: a["name"])
def test_explain_shows_every_parameter(cli: Cli, algorithm: dict[str, object]) -> None:
    done = cli("explain", algorithm["name"])
    assert done.returncode == 0, done.stderr
    assert str(algorithm["title"]) in done.stdout
    params = algorithm["params"]
    assert isinstance(params, list)
    for param in params:
        assert re.search(rf"^ *{param['name']}\b", done.stdout, re.MULTILINE), param["name"]
    assert "When it decides" in done.stdout


def test_explain_shows_where_a_marker_is_configured(cli: Cli) -> None:
    assert 'marker = "srtcm ..." in a [[traffic]] table' in cli("explain", "srtcm").stdout


def test_a_scheduler_runs_where_an_algorithm_does(cli: Cli, small_file: Path, tmp_path: Path) -> None:
    nested = "prio classes 2 aqm_1 (fq_codel flows 16) evict lowest"
    done = cli(
        "run", small_file, "--aqm", "fq_codel", "--aqm", nested, "--seeds", "1", "--json", "--out", tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert [run["aqm"] for run in json.loads(done.stdout)["runs"]] == ["fq_codel", nested]
    for spec, expected in [
        ("fq_codle", "'fq_codle' is not an algorithm (did you mean fq_codel?)"),
        ("fq_codel overflow head", "fq_codel.overflow is not a parameter"),
        ("prio aqm_1 (codel targt 5ms)", "prio.aqm_1: codel.targt is not a parameter (did you mean target?)"),
        ("prio aqm_1 (codel", "has parentheses that do not match"),
    ]:
        done = cli("run", small_file, "--aqm", spec)
        assert (done.returncode, done.stdout) == (2, "")
        assert expected in done.stderr.replace('"', "'"), done.stderr


def test_explain_describes_metrics_and_tcp(cli: Cli) -> None:
    done = cli("explain", "jain_index")
    assert METRICS["jain_index"].formula in done.stdout
    assert "min_rto" in cli("explain", "tcp").stdout


def test_the_schema_is_printed(cli: Cli) -> None:
    printed = json.loads(cli("schema").stdout)
    assert printed == json.loads((ROOT / "docs/reference/scenario.schema.json").read_text())


def test_bench_aqm_measures_algorithms_and_schedulers(cli: Cli) -> None:
    done = cli("bench", "aqm", "--aqm", "red max_p 0.02", "--aqm", "drr", "--json")
    assert done.returncode == 0, done.stderr
    measured = json.loads(done.stdout)
    assert [cost["spec"] for cost in measured["costs"]] == ["red max_p 0.02", "drr"]
    for cost in measured["costs"]:
        assert set(cost["nanoseconds"]) == {"10", "1000", "100000"}
        assert cost["timer_period_s"] is None
        assert cost["instructions"] is not None or "need" in measured["missing"]
    assert measured["costs"][0]["moves_per_packet"] > 0.9

    wrong = cli("bench", "aqm", "--aqm", "reed")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith('sojourn: --aqm: "reed" is not an algorithm (did you mean red?)')


def test_version_and_help(cli: Cli) -> None:
    assert cli("--version").stdout.strip() == f"sojourn {_core.CORE_VERSION}"
    for words in ([], ["run"], ["reproduce"], ["list"], ["explain"], ["report"], ["bench"]):
        done = cli(*words, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith("Usage: sojourn")


def test_nothing_heavy_is_imported_before_the_first_packet() -> None:
    """Until the runs start: no large package, no other command, no module that only some runs need."""
    code = (
        "import sys\n"
        "from sojourn import _core, cli\n"
        "class Stop(BaseException): pass\n"
        "class Batch:\n"
        "    def __init__(self, jobs, workers): raise Stop\n"
        "_core.Batch = Batch\n"
        "try: cli.call(['run', sys.argv[1], '--out', sys.argv[2]])\n"
        "except Stop: pass\n"
        "late = {'polars', 'matplotlib', 'scipy', 'numpy', 'jinja2', 'rich', 'multiprocessing',"
        " 'sojourn.report', 'sojourn.papers', 'sojourn.cli.compare', 'sojourn.cli.sweep'}\n"
        "print(*sorted(late & set(sys.modules)))"
    )
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = ROOT / "examples/red40.toml"
        words = [sys.executable, "-c", code, str(file), str(Path(folder) / "out")]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "", done.stdout


@pytest.mark.parametrize("words", ["--help", "--version", "run --help", "list --json"])
def test_help_imports_only_what_the_command_line_needs(words: str) -> None:
    """Start-up time is mostly imports: each package that is excluded here takes tenths of a second.

    Seen to fail: the list of commands imports them; ``import sojourn`` imports all that it exports.
    """
    code = (
        "import sys\n"
        "from sojourn.cli import call\n"
        "call(sys.argv[1:])\n"
        "print(*{name.partition('.')[0] for name in sys.modules} - sys.stdlib_module_names, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    packages = {name for name in done.stderr.split() if not name.startswith("_")}
    typer = {"typer", "annotated_doc", "shellingham"}
    pydantic = {"pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
    has_scenarios = not words.startswith("--")
    assert packages <= {"sojourn", *typer, *(pydantic if has_scenarios else ())}


def test_no_colour_with_no_color_or_a_dumb_terminal(process: Cli, small_file: Path) -> None:
    for env in ({"NO_COLOR": "1", "FORCE_COLOR": ""}, {"TERM": "dumb"}):
        done = process("run", small_file, "--seeds", 1, env=env)
        assert "\x1b" not in done.stdout + done.stderr
