#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the vendor's client programs, unchanged, against libascendcl_cpu.so and judges each by its own text.

    run.py EXAMPLE HEADERS [options]

EXAMPLE is the folder `example` of a checkout of the CANN runtime repository, HEADERS the folder that holds the
vendor's `acl/acl.h`. Both are only read. Nothing is fetched. See docs/official-programs.md.

The exit code is 0 when every program ended as its text says, 1 when one did not, 2 when nothing could be run.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from programs import PROGRAMS, VARIANTS, Program

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIBRARIES = ("libascendcl.so", "libacl_rt.so", "libacl_rt_impl.so")
# Two devices, else the copy between devices skips itself; cores as many as a program may ask for.
DEVICE = {"ASCENDCL_CPU_DEVICES": "2", "ASCENDCL_CPU_CORES": "24"}


def say(text: str) -> None:
    print(text, flush=True)


def need(condition: bool, text: str) -> None:
    if not condition:
        print(f"run.py: {text}", file=sys.stderr)
        raise SystemExit(2)


def command(*words: object) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    need(done.returncode == 0, f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")


def make_installation(place: Path, headers: Path, library: Path) -> None:
    """A folder laid out as an installed CANN as far as the programs look: headers, library, kernel compiler."""
    (place / "include").mkdir(parents=True)
    (place / "include" / "acl").symlink_to(headers / "acl")
    (place / "lib64").mkdir()
    shutil.copy(library, place / "lib64" / "libascendcl_cpu.so")
    for name in LIBRARIES:
        (place / "lib64" / name).symlink_to("libascendcl_cpu.so")
    environment = (
        f'export ASCEND_HOME_PATH="{place}" ASCEND_INSTALL_PATH="{place}"\n'
        f'export LD_LIBRARY_PATH="{place}/lib64${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"\n'
    )
    (place / "set_env.sh").write_text(environment)
    (place / "bin").mkdir()
    (place / "bin" / "setenv.bash").write_text(environment)

    compiler = place / "tikcpp" / "ascendc_kernel_cmake"
    compiler.mkdir(parents=True)
    shutil.copy(HERE / "kernels" / "ascendc.cmake", compiler)
    build = [os.environ.get("CXX", "g++"), "-std=c++17", "-O2", "-Wall", "-Wextra", "-fPIC"]
    for name, options in (("kernels.so", []), ("kernels_tiling.so", ["-DADD_CUSTOM_TILING"])):
        command(
            *build, "-shared", "-fvisibility=hidden", *options, f"-I{ROOT}/csrc/include",
            HERE / "kernels" / "kernels.cpp", "-o", compiler / name,
        )  # fmt: skip
    command(
        *build, "-c", f"-I{place}/include", f'-DKERNEL_BINARY="{compiler}/kernels.so"',
        HERE / "kernels" / "wrappers.cpp", "-o", compiler / "wrappers.o",
    )  # fmt: skip
    command("ar", "rcs", compiler / "libwrappers.a", compiler / "wrappers.o")


def sample_output(readme: Path) -> list[str]:
    """The lines of the first text block below the heading of the sample output."""
    if not readme.is_file():
        return []
    _, found, rest = readme.read_text(encoding="utf-8-sig").partition("## Sample Output")
    block = re.search(r"```text\n(.*?)```", rest, re.DOTALL) if found else None
    return [one_space(line) for line in block[1].splitlines() if line.strip(" .")] if block else []


def one_space(line: str) -> str:
    return " ".join(line.split())


def pattern_of(line: str) -> str:
    """A sample line as a pattern: `...` and `<word>` stand for anything."""
    text = re.escape(line).replace(r"0x\.\.\.", "0x[0-9a-f]+").replace(r"\.\.\.", ".*")
    return "^" + re.sub(r"<\w+>", ".*", text) + "$"


def expected_patterns(program: Program, lines: list[str]) -> list[str]:
    patterns = []
    for line in lines:
        for start, other in program.instead:
            if line.startswith(start):
                if other is not None:
                    patterns.append(other)
                break
        else:
            patterns.append(pattern_of(line))
    return patterns


def missing_lines(patterns: list[str], output: list[str], ordered: bool) -> list[str]:
    missing, left = [], list(output)
    for pattern in patterns:
        at = next((i for i, line in enumerate(left) if re.search(pattern, line)), None)
        if at is None:
            missing.append(pattern)
        elif ordered:
            del left[: at + 1]
        else:
            del left[at]
    return missing


BAD = re.compile(r"\[(ERROR|FAILURE|SKIP)\]|Segmentation fault|core dumped|Aborted|terminate called")


def judge(program: Program, readme: Path, code: int | None, output: list[str], seconds: float) -> str:
    """Why the program did not end as its text says, or an empty string."""
    expected = expected_patterns(program, sample_output(readme))
    patterns = [*expected, *program.may]
    reasons = []
    if code is None:
        reasons.append(f"stopped after {seconds:.0f} s")
    elif code != 0:
        reasons.append(f"exit code {code}")
    bad = [line for line in output if BAD.search(line) and not any(re.search(p, line) for p in patterns)]
    reasons += [f"unexpected: {line}" for line in bad[:2]]
    missing = missing_lines(expected, output, program.ordered) + missing_lines(list(program.more), output, True)
    if not expected and not program.more:
        reasons.append("nothing to judge it by")
    if missing:
        reasons.append(f"{len(missing)} lines missing or out of order, first {missing[0]!r}")
    return "; ".join(reasons)


def why_not_built(text: str) -> str:
    for what, pattern in (
        ("the headers lack", r"error: .(\w+). (?:was not declared|does not name a type|has not been declared)"),
        ("the library lacks", r"undefined reference to .(\w+)'"),
    ):
        if names := sorted(set(re.findall(pattern, text))):
            return f"does not build: {what} {', '.join(names)}"
    error = re.search(r"^.*(?:error:|ERROR|CMake Error).*$", text, re.MULTILINE)
    return "does not build" + (f": {error[0].strip()}" if error else "")


def execute(script: str, folder: Path, environment: dict[str, str], timeout: float) -> tuple[int | None, str]:
    """Runs a script with all that it starts; None as the code when it had to be stopped."""
    with subprocess.Popen(
        ["bash", "-c", script], cwd=folder, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=timeout)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            code = None
    return code, output.decode(errors="replace")


def run_program(program: Program, example: Path, installation: Path, timeout: float) -> dict[str, object]:
    folder = example / program.folder
    result: dict[str, object] = {
        "program": program.folder,
        "arguments": list(program.arguments),
        "kernels": program.kernels,
        "headers": "the checkout's" if program.own_headers else "given",
    }
    if not (installation / "include").is_dir():
        return result | {"builds": False, "ends": False, "why": "the checkout has no include/external/acl", "output": ""}
    if not folder.is_dir():
        return result | {"builds": False, "ends": False, "why": "not in the checkout", "output": ""}
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ASCEND", "SOC_VERSION"))} | DEVICE
    begin = f'source "{installation}/set_env.sh" && source "{example}/set_sample_env.sh" && '
    if program.folder == "tools/get_soc_version":
        script = begin + "set -e; ./build/get_soc_version"
    else:
        script = begin + " ".join(["exec bash -o pipefail run.sh", *program.arguments])
    binaries = ("build/main", "out/bin/ascendc_kernels_bbit", "build/get_soc_version")
    start = time.monotonic()
    code, text = execute(script, folder, environment, timeout)
    seconds = time.monotonic() - start
    builds = any((folder / binary).is_file() for binary in binaries)
    why = judge(program, folder / "README_en.md", code, [one_space(line) for line in text.splitlines()], seconds)
    if not builds:
        why = why_not_built(text)
    result |= {"builds": builds, "ends": builds and not why, "why": why}
    return result | {"seconds": round(seconds, 1), "output": text}


def table(results: list[dict[str, object]]) -> str:
    rows = [("program", "kernels", "headers", "builds", "ends as its text says", "why not")]
    for r in results:
        name = " ".join([str(r["program"]), *map(str, r["arguments"])])  # type: ignore[call-overload]
        words = ["yes" if r[key] else "no" for key in ("builds", "ends")]
        why = str(r["why"]).replace("|", "\\|")
        rows.append((name, "ours" if r["kernels"] else "none", str(r["headers"]), *words, why))
    lines = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]
    return "\n".join([lines[0], "|---|---|---|---|---|---|", *lines[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("example", type=Path, help="the folder `example` of the runtime repository")
    parser.add_argument("headers", type=Path, help="the folder that holds the vendor's acl/acl.h")
    parser.add_argument("--library", type=Path, help="libascendcl_cpu.so; built from this checkout when left out")
    parser.add_argument("--work", type=Path, help="build here and keep it (default: a temporary folder)")
    parser.add_argument("--json", type=Path, help="write the results, with all output, to this file")
    parser.add_argument(
        "--only", metavar="TEXT", action="append", help="only programs whose folder contains TEXT (may be repeated)"
    )
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one program, with its build")
    options = parser.parse_args()
    need((options.example / "set_sample_env.sh").is_file(), f"{options.example} is not the folder `example`")
    need((options.headers / "acl" / "acl.h").is_file(), f"{options.headers} has no acl/acl.h")
    for tool in ("bash", "cmake", "make", "g++", "ar"):
        need(shutil.which(tool) is not None, f"{tool} is not installed")

    with tempfile.TemporaryDirectory(prefix="official-programs-") as temporary:
        work = (options.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        for name in ("example", "cann", "cann-checkout"):
            shutil.rmtree(work / name, ignore_errors=True)
        library = options.library
        if library is None:
            say("building libascendcl_cpu.so")
            command("sh", ROOT / "tests" / "c" / "device" / "build.sh", work)
            library = work / "libascendcl_cpu.so"
        shutil.copytree(options.example, work / "example")
        make_installation(work / "cann", options.headers.resolve(), library)
        # Some programs are younger than released headers.
        own_headers = options.example.resolve().parent / "include" / "external"
        if (own_headers / "acl" / "acl.h").is_file():
            make_installation(work / "cann-checkout", own_headers, library)

        results, others = [], []
        for into, programs in ((results, PROGRAMS), (others, VARIANTS)):
            for program in programs:
                if options.only and not any(text in program.folder for text in options.only):
                    continue
                installation = work / ("cann-checkout" if program.own_headers else "cann")
                into.append(run_program(program, work / "example", installation, options.timeout))
                last = into[-1]
                name = " ".join([program.folder, *program.arguments])
                say(f"{'ok' if last['ends'] else 'NOT':4}{name}{': ' if last['why'] else ''}{last['why']}")
    need(bool(results), "no program of that name")

    good = sum(bool(r["ends"]) for r in results)
    say(f"\n{table(results + others)}\n\n{good} of {len(results)} programs end as their text says.")
    if options.json:
        summary = {"good": good, "of": len(results), "programs": results, "variants": others}
        options.json.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    return 0 if all(r["ends"] for r in results + others) else 1


if __name__ == "__main__":
    raise SystemExit(main())
