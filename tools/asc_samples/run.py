#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the vendor's Ascend C samples against the simulator's headers, runs them with every check on, and lets their own
scripts judge the results.

    run.py EXAMPLES HEADERS [options]

EXAMPLES is the folder examples/01_simd_cpp_api of a checkout of asc-devkit, HEADERS the folder that holds the vendor's
acl/acl.h. Both are only read. Nothing is fetched. See docs/simulator.md.

Each sample is built by its own CMakeLists.txt; the language ASC that it asks for is in cmake/, and asc_compiler.py rewrites
the `<<<>>>` launches. The generator of inputs and the judge are those that its README calls. Samples whose host part needs
torch, GE, aclrtc or an operator package are run by own_hosts.py.

The exit code is 0 when every sample gave its reference values, 1 when one did not, 2 when nothing could be run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import own_hosts
from samples import SAMPLES, Sample

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Named by samples' build files, needed by none of these samples.
EMPTY_LIBRARIES = ("ascendalog", "tiling_api", "register", "platform", "graph_base")


def need(condition: bool, text: str) -> None:
    if not condition:
        print(f"run.py: {text}", file=sys.stderr)
        raise SystemExit(2)


def command(*words: object) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    need(done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def make_installation(place: Path, headers: Path, library: Path) -> None:
    (place / "include").mkdir(parents=True)
    (place / "include" / "acl").symlink_to(headers / "acl")
    libraries = place / "lib64"
    libraries.mkdir()
    for name in ("libascendcl.so", "libascendcl_cpu.so"):
        (libraries / name).symlink_to(library)
    for name in EMPTY_LIBRARIES:
        command("gcc", "-shared", "-x", "c", "/dev/null", "-o", libraries / f"lib{name}.so")
    command(
        os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared", "-pthread",
        "-fno-strict-aliasing", "-ffp-contract=off", f"-I{ROOT}/csrc/ascendc/include", f"-I{ROOT}/csrc/include",
        f"-isystem{place}/include", HERE / "launch.cpp", *sorted((ROOT / "csrc/ascendc/runtime").glob("*.cpp")),
        "-o", libraries / "libasc_samples.so", f"-L{libraries}", "-lascendcl", "-ldl",
    )  # fmt: skip


def readme_lines(sample: Path) -> tuple[str, str, str]:
    """The calls of cmake, of the generator and of the judge, as the README gives them."""
    text = (sample / "README.md").read_text(encoding="utf-8-sig")
    lines = [line.split(" #")[0].strip() for block in re.findall(r"```bash[ ]*\n(.*?)```", text, re.DOTALL)
             for line in block.splitlines()]  # fmt: skip

    def first(pattern: str) -> str:
        return next((line for line in lines if re.match(pattern, line) and "RUN_MODE" not in line), "")

    cmake = first("cmake").split(";")[0].strip() or "cmake -DCMAKE_ASC_ARCHITECTURES=dav-2201 .."
    return re.sub(r"-DSCENARIO_NUM=\d+", "-DSCENARIO_NUM=$SCENARIO_NUM", cmake), first("python3 .*gen_data"), first("python3 .*verify_result")


def run_sample(sample: Sample, scenario: int | None, examples: Path, installation: Path, timeout: float) -> tuple[bool, str]:
    """Whether it compiled, and why it did not give its values (empty: it did)."""
    folder = examples / sample.folder
    cmake, generate, judge = readme_lines(folder)
    shutil.rmtree(folder / "build", ignore_errors=True)
    (folder / "build").mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND")} | {
        "ASCEND_HOME_PATH": str(installation),
        "ASC_DIR": str(HERE / "cmake"),
        "ASC_SAMPLE_COMPILER": str(HERE / "asc_compiler.py"),
        "LD_LIBRARY_PATH": f"{installation}/lib64",
        "SCENARIO_NUM": "" if scenario is None else str(scenario),
        "ASCENDCL_CPU_CORES": "24",
    }

    def shell(script: str) -> tuple[int, str]:
        try:
            done = subprocess.run(["bash", "-c", script], cwd=folder / "build", env=environment, timeout=timeout,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return 124, f"stopped after {timeout:.0f} s"
        return done.returncode, done.stdout.decode(errors="replace")

    code, text = shell(f"{cmake} && make")
    if code != 0:
        error = re.search(r"^.*(?:error:|Error|undefined reference).*$", text, re.MULTILINE)
        return False, error[0].strip() if error else text[-200:]
    code, text = shell(f"set -e; {generate or ':'}; ./{sample.program}; {judge or ':'}")
    if found := re.search(r"\[violation.*", text):
        return True, found[0]
    if code != 0 or text.count(sample.prints) != sample.times:
        return True, f"exit code {code}, printed: {text[-300:]!r}"
    return True, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("examples", type=Path)
    parser.add_argument("headers", type=Path)
    parser.add_argument("--library", type=Path, help="libascendcl_cpu.so; built from this checkout when left out")
    parser.add_argument("--work", type=Path, help="build here and keep it (default: a temporary folder)")
    parser.add_argument("--only", metavar="TEXT", action="append", help="only samples whose folder contains TEXT")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one step of a sample")
    options = parser.parse_args()
    need((options.headers / "acl" / "acl.h").is_file(), f"{options.headers} has no acl/acl.h")
    need((options.examples / SAMPLES[0].folder).is_dir(), f"{options.examples} is not 01_simd_cpp_api")
    for tool in ("bash", "cmake", "make", "g++", "python3"):
        need(shutil.which(tool) is not None, f"{tool} is not installed")

    def wanted(folder: str) -> bool:
        return not options.only or any(text in folder for text in options.only)

    rows: list[tuple[str, str, str, bool, bool]] = []

    def note(folder: str, host: str, scenarios: str, compiles: bool, why: str) -> None:
        rows.append((folder, host, scenarios, compiles, compiles and not why))
        print(f"{'ok' if compiles and not why else 'NOT':4}{folder}{': ' if why else ''}{why}", flush=True)

    with tempfile.TemporaryDirectory(prefix="asc-samples-") as temporary:
        work = (options.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        for name in ("examples", "cann"):
            shutil.rmtree(work / name, ignore_errors=True)
        library = options.library
        if library is None:
            command("sh", ROOT / "tests" / "c" / "device" / "build.sh", work)
            library = work / "libascendcl_cpu.so"
        shutil.copytree(options.examples, work / "examples")
        make_installation(work / "cann", options.headers.resolve(), library.resolve())
        for sample in SAMPLES:
            if not wanted(sample.folder):
                continue
            compiles, whys = True, []
            for scenario in sample.scenarios or (None,):
                done, why = run_sample(sample, scenario, work / "examples", work / "cann", options.timeout)
                compiles = compiles and done
                if why:
                    whys.append(f"scenario {scenario}: {why}" if scenario is not None else why)
            note(sample.folder, "its own", ", ".join(map(str, sample.scenarios)) or "one", compiles, "; ".join(whys))
        for kernel in own_hosts.SAMPLES:
            if wanted(kernel.folder):
                compiles, why = own_hosts.run(kernel, work / "examples" / kernel.folder)
                note(kernel.folder, "ours", kernel.cases, compiles, why)
    need(bool(rows), "no sample of that name")
    print("\n| sample | host code | scenarios | compiles | gives its reference values |\n| --- | --- | --- | --- | --- |")
    for folder, host, scenarios, compiles, right in rows:
        print(f"| {folder} | {host} | {scenarios} | {'yes' if compiles else 'no'} | {'yes' if right else 'no'} |")
    print(f"\n{sum(r[3] for r in rows)} of {len(rows)} compile, {sum(r[4] for r in rows)} give their reference values.")
    return 0 if all(r[4] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
