# SPDX-License-Identifier: Apache-2.0
"""``ascend-cy bench``: that it measures, compares and tells what it did. No test here asserts a time."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from cli_program import refused, run

from ascend_cy import _build_info
from ascend_cy.bench import BENCHMARKS, _measure, _native, _table
from ascend_cy.bench._measure import Case, Plan, Result, case, measure
from ascend_cy.bench._table import Row, Table

RECORDED = Path(__file__).resolve().parents[1] / "benchmarks" / "instructions.json"


# ---- the program ----


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """One quick run, peers left out: what they cost to load has nothing to do with the harness."""
    folder = tmp_path_factory.mktemp("bench")
    words = ("bench", "call", "layernorm", "backward", "allocation", "launch", "kernel", "enqueue", "--quick", "--peers", "none", "--json", "r.json")
    done = run(*words, cwd=folder, env={"ASCEND_CY_CACHE_DIR": str(folder / "cache")})
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / "r.json").read_text())


def rows(report):
    return [(table, row) for table in report[1]["tables"] for row in table["rows"]]


def test_what_was_asked_for_was_measured(report):
    found = report[1]
    assert [table["name"] for table in found["tables"]] == ["call", "layernorm", "backward", "allocation", "launch", "kernel", "enqueue"]
    assert found["failed"] == {} and found["quick"] is True and found["format"] == 1
    assert all(table["rows"] and table["threads"] >= 1 for table in found["tables"])


def test_figures_and_ratios_are_positive(report):
    for _, row in rows(report):
        assert row["ours"] is None or row["ours"] in row["results"]
        for result in row["results"].values():
            assert 0 < result["minimum"] <= result["median"] < math.inf
            assert result["repeats"] >= 3 and result["calls"] >= 1 and result["faults"] >= 0
        for ratio in ("to_limit", "to_peer"):
            assert row[ratio] is None or 0 < row[ratio] < math.inf
        if row["to_limit"] is not None:
            assert row["limit"] in row["results"] and row["limit"] in row["floors"]


def test_layernorm_has_a_limit_for_every_type(report):
    for name in ("layernorm", "backward"):
        table = next(table for table in report[1]["tables"] if table["name"] == name)
        kinds = {row["work"]["dtype"] for row in table["rows"]}
        assert kinds >= {"float32", "float16"}
        assert all(row["to_limit"] for row in table["rows"])


def test_the_machine_and_what_is_left_out_are_told(report):
    text, found = report
    assert found["machine"]["cpus"] >= 1 and found["versions"]["numpy"]
    for word in ("machine", "system", "versions", "command", "interleaved repeats", "threads"):
        assert word in text
    for peer in ("ctypes", "cffi", "pybind11", "nanobind"):
        assert f"skipped: {peer}: not asked for" in text


def test_rows_for_the_readme(report, tmp_path):
    (tmp_path / "r.json").write_text(json.dumps(report[1]))
    script = RECORDED.with_name("main_rows.py")
    tables = {}
    for words in ((), ("--reach",)):
        done = subprocess.run([sys.executable, script, "r.json", *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        tables[words] = done.stdout.splitlines()
    assert all(line.count("|") == 5 for line in tables[()]) and all(line.count("|") == 6 for line in tables["--reach",])
    assert any(line.startswith("| layernorm: (1, 768) float32 | ") for line in tables[()])
    wanted = [row for table in report[1]["tables"] for row in table["rows"] if row["reach"]]
    assert len(tables["--reach",]) == 2 + len(wanted) and "≤ 550 ns" in "".join(tables["--reach",])


def test_bad_usage(tmp_path):
    assert "'nothing'" in refused("bench", "nothing", cwd=tmp_path)
    words = ("bench", "enqueue", "--quick", "--peers", "none", "--json", "missing/r.json")
    assert "missing/r.json" in refused(*words, cwd=tmp_path)


@pytest.mark.parametrize("peers", ["nosuch", "torch,nosuch", "", "torch,", "none,torch"])
def test_unknown_peers(tmp_path, peers):
    (tmp_path / "r.json").write_text("earlier figures")
    said = refused("bench", "enqueue", "--quick", "--json", "r.json", "--peers", peers, cwd=tmp_path)
    wrong = next(name for name in peers.split(",") if name != "torch")
    assert f"there is no library {wrong!r} to compare with; there are torch, numba, " in said
    assert all(name in said for name in _native.PEERS) and "none" in said
    assert (tmp_path / "r.json").read_text() == "earlier figures"


def test_all_peers_can_be_named():
    """The list in `_native` is what the benchmarks ask for."""
    sources = [file.read_text() for file in Path(_native.__file__).parent.glob("*.py")]
    asked = {name for text in sources for name in re.findall(r"""(?:imported|require_wanted)\("(\w+)"\)""", text)}
    assert asked | {"numpy"} == set(_native.PEERS)
    assert _native.peers_named("torch, numba") == ["torch", "numba"] and _native.peers_named("none") == []


def test_every_plot_is_drawn(report, tmp_path):
    pytest.importorskip("matplotlib")
    from ascend_cy.bench import _plots

    _plots.prepare(tmp_path / "plots")
    table = Table("pipeline", "batches", threads=2)
    table.rows.append(Row("(2, 3)", {}, {"plain loop": result(2e-3), "ascend_cy": result(1e-3)}, limit="plain loop"))
    link = {"ideal": result(1e-3), "serial": result(2e-3), "ascend_cy": result(1.1e-3)}
    table.rows.append(Row("link", {}, link, limit="ideal", floors=["serial"]))
    latency = {**next(each for each in report[1]["tables"] if each["name"] == "layernorm"), "name": "latency"}
    full = {**report[1], "tables": [*report[1]["tables"], latency, table.as_json()]}
    files = _plots.draw(full, tmp_path / "plots")
    assert sorted(file.stem for file in files) == sorted(_plots.PLOTS)
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in files)


def test_plots_that_cannot_be_written_are_refused_first(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "r.json").write_text("earlier figures")
    (tmp_path / "file").touch()
    for folder in ("/proc/x", "file", "/proc"):
        said = refused("bench", "enqueue", "--quick", "--json", "r.json", "--plot", folder, cwd=tmp_path)
        assert said.startswith(f"ascend-cy: error: cannot write to {folder}: ")
    assert (tmp_path / "r.json").read_text() == "earlier figures"


def test_nothing_to_draw_is_said(tmp_path):
    pytest.importorskip("matplotlib")
    done = run("bench", "enqueue", "--quick", "--peers", "none", "--plot", "new/plots", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "there was nothing to draw: plots are made of layernorm, call, latency, pipeline"
    assert list((tmp_path / "new" / "plots").iterdir()) == []


# ---- how figures are taken ----


def counting_case(name, log, seconds):
    def loop(calls):
        log.append((name, calls))
        return seconds * calls

    return Case(name, loop)


def test_repeats_are_interleaved_and_the_order_rotates():
    log = []
    plan = Plan(sample=1e-3, repeats=3, least=3, budget=60)
    results = measure([counting_case("a", log, 1e-4), counting_case("b", log, 1e-3)], plan)
    assert results["a"].repeats == results["b"].repeats == 3
    assert results["a"].calls >= 10 and results["b"].calls >= 1
    assert results["a"].minimum == pytest.approx(1e-4) and results["b"].median == pytest.approx(1e-3)
    order = [name for name, _ in log][-12:]  # every sample is a loop that warms up and one that counts
    assert order == list("aabb" "bbaa" "aabb")


def test_slow_cases_do_not_take_the_time_of_all():
    log = []
    plan = Plan(sample=1e-3, repeats=20, least=7, budget=4.0)
    names = {"quick": 1e-3, "slow": 0.5, "slower": 50.0}
    results = measure([counting_case(name, log, seconds) for name, seconds in names.items()], plan)
    assert list(results) == list(names)
    assert {name: result.repeats for name, result in results.items()} == {"quick": 20, "slow": 5, "slower": 1}
    assert [name for name, _ in log].count("slower") == 1
    assert results["slower"].minimum == results["slower"].median == 50.0


def test_a_first_call_that_compiles_is_not_taken_for_a_slow_one():
    firsts = iter([9.0])
    results = measure([Case("compiled", lambda calls: next(firsts, 1e-3 * calls))], Plan(repeats=3, least=3, budget=4.0))
    assert results["compiled"].repeats == 3 and results["compiled"].minimum == pytest.approx(1e-3)


def test_statement_sees_its_names():
    seen = []
    _measure.statement("f(x)", f=seen.append, x=3)(4)
    assert seen == [3, 3, 3, 3]


def test_fastest_takes_the_quickest():
    slow, quick = counting_case("slow", [], 1e-3), counting_case("quick", [], 1e-4)
    assert _measure.fastest([slow, quick]).name == "quick"


def test_measuring_real_statements():
    results = measure([case("sum", "f(x)", f=sum, x=(1, 2, 3))], Plan(sample=1e-5, repeats=3, least=3))
    assert 0 < results["sum"].minimum <= results["sum"].median


# ---- how figures are compared ----


def result(seconds):
    return Result(seconds, 2 * seconds, 5, 10, 0.0)


def test_row_compares_with_the_best_peer_and_the_limit():
    results = {"copy": result(1e-3), "ascend_cy": result(2e-3), "slow": result(9e-3), "quick": result(3e-3)}
    row = Row("work", {}, results, limit="copy", reach={"to_limit": 2.5}).as_json()
    assert row["best_peer"] == "quick" and row["to_peer"] == pytest.approx(1.5)
    assert row["to_limit"] == pytest.approx(2) and row["met"] is True
    assert Row("work", {}, results, limit="copy", reach={"to_limit": 1.5}).as_json()["met"] is False
    assert Row("work", {}, results, reach={"seconds": 1e-3}).as_json()["met"] is False
    assert Row("work", {}, results, limit="copy", reach={"to_peer": 1.4}).as_json()["met"] is True


def test_row_without_ours_or_peers():
    row = Row("work", {}, {"copy": result(1.0)}, limit="copy").as_json()
    assert row["ours"] is None and row["best_peer"] is None and row["met"] is None


def test_printed_table_has_every_figure():
    table = Table("name", "what it is", threads=2, notes=["a note"])
    table.skip("peer", "not installed")
    table.rows.append(Row("work", {}, {"copy": result(1e-3), "ascend_cy": result(2e-6)}, limit="copy"))
    table.rows.append(Row("other", {}, {"ascend_cy": result(2.5e-7), "peer": result(1.0)}))
    text = _table.print_table(table.as_json())
    for word in ("name: what it is", "2.00 µs (4.00 µs)", "250 ns (500 ns)", "1.00 s", "a note", "skipped: peer: not installed"):
        assert word in text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.12345, "123 ms"), (1.5, "1.50 s"), (9.996e-7, "1.00 µs"), (9.99e-7, "999 ns"), (4.2e-9, "4.2 ns"), (1.234e-5, "12.3 µs")],
)
def test_time_text(seconds, text):
    assert _table.time_text(seconds) == text


def test_benchmarks_have_modules():
    folder = Path(_table.__file__).parent
    assert all((folder / f"{each.name}.py").is_file() for each in BENCHMARKS)


# ---- instructions ----


def toolchain():
    return {
        "compiler": _build_info.compiler,
        "buildtype": _build_info.buildtype,
        "machine": _build_info.machine,
        "python": sysconfig.get_python_version(),
    }


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_hot_paths_have_not_grown(tmp_path):
    """Instructions of our own layers; `benchmarks/README.md` tells how to record them anew."""
    recorded = json.loads(RECORDED.read_text())
    if recorded["toolchain"] != toolchain():
        pytest.skip(f"recorded with {recorded['toolchain']}, this is {toolchain()}")
    done = run("bench", "instructions", "--json", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    if "instructions" in report["skipped"]:
        pytest.skip(report["skipped"]["instructions"])
    (table,) = report["tables"]
    own = {row["label"]: sum(row["counts"][layer] for layer in recorded["layers"]) for row in table["rows"]}
    grown = {path: (count, recorded["counts"][path]) for path, count in own.items() if count > 1.05 * recorded["counts"][path]}
    assert not grown, f"more instructions than recorded (found, recorded): {grown}"
