# SPDX-License-Identifier: Apache-2.0
"""The command lines of the NPU build, against stand-ins for CANN's compiler and linker that record their arguments."""

import importlib.util
import json
import os
import platform
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "ascend_cy" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


npu_build = load("_npu_build")

STAND_IN = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    log.write(json.dumps([os.path.basename(sys.argv[0]), *sys.argv[1:]]) + "\\n")
if os.environ.get("STAND_IN_FAILS") == os.path.basename(sys.argv[0]):
    sys.exit("kernel.cpp:7: error: no such intrinsic")
with open(sys.argv[sys.argv.index("-o") + 1], "w") as out:
    out.write("made by " + os.path.basename(sys.argv[0]))
"""


class Cann:
    """A folder that looks like a CANN installation."""

    def __init__(self, root, version=None):
        self.root = root
        self.log = root / "calls.jsonl"
        machine = "aarch64" if platform.machine() in ("aarch64", "arm64") else "x86_64"
        self.bin = root / f"{machine}-linux" / "ccec_compiler" / "bin"
        self.bin.mkdir(parents=True)
        for name in ("bisheng", "ld.lld"):
            program = self.bin / name
            program.write_text(STAND_IN.format(python=sys.executable, log=str(self.log)))
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
        if version:
            (root / f"{machine}-linux" / "ascend_toolkit_install.info").write_text(
                f"package_name=Ascend-cann-toolkit\nversion={version}\narch={machine}\n")

    def calls(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def kernel(tmp_path):
    source = tmp_path / "op.cpp"
    source.write_text("// a kernel\n")
    return source


@pytest.mark.parametrize("version", ["8.5.0", "9.1.0.RC1", None])
def test_lines_of_newer_compilers(tmp_path, kernel, version):
    cann = Cann(tmp_path / "cann", version)
    output = tmp_path / "out" / "ascend910b" / "op.o"
    npu_build.build(npu_build.find_toolchain(cann.root), kernel, output, "ascend910b")
    assert output.read_text() == "made by ld.lld"
    assert [p.name for p in output.parent.iterdir()] == ["op.o"]
    compile_line, link_line = cann.calls()
    unlinked = compile_line[-1]
    assert compile_line == ["bisheng", "--npu-arch=dav-2201", "--aicore-only", "-std=c++17", "-O3", "-DASCENDC_DUMP=0", "-c",
                            "-x", "asc", str(kernel), "-o", unlinked]
    assert link_line[:-1] == ["ld.lld", "-m", "aicorelinux", "-Ttext=0", unlinked, "-static", "-o"]


def test_lines_of_older_compilers(tmp_path, kernel):
    cann = Cann(tmp_path / "cann", "8.1.RC1")
    npu_build.build(npu_build.find_toolchain(cann.root), kernel, tmp_path / "op.o", "ascend910_93")
    compile_line, _ = cann.calls()
    assert compile_line[:5] == ["bisheng", "-c", "-x", "cce", "-O3"] and str(kernel) in compile_line
    assert {"--cce-aicore-arch=dav-c220-vec", "--cce-aicore-only", "--cce-auto-sync",
            "--cce-disable-kernel-global-attr-check"} <= set(compile_line)
    framework = cann.bin.parent.parent / "tikcpp" / "tikcfw"
    assert {f"-I{framework}", f"-I{framework}/impl", f"-I{framework}/interface"} <= set(compile_line)
    at = compile_line.index("-cce-aicore-stack-size=0x8000")
    assert compile_line[at - 1] == "-mllvm"


@pytest.mark.parametrize("program", ["bisheng", "ld.lld"])
def test_a_failing_tool_is_reported_and_leaves_nothing(tmp_path, kernel, monkeypatch, program):
    cann = Cann(tmp_path / "cann")
    monkeypatch.setenv("STAND_IN_FAILS", program)
    with pytest.raises(npu_build.CannError, match=rf"{program} failed on .*op\.cpp.*\n.*no such intrinsic"):
        npu_build.build(npu_build.find_toolchain(cann.root), kernel, tmp_path / "out" / "op.o", "ascend910b")
    assert list((tmp_path / "out").iterdir()) == []


def test_finding_the_installation(tmp_path):
    cann = Cann(tmp_path / "named", "9.0.0")
    other = Cann(tmp_path / "home" / "Ascend" / "cann")
    environment = {"HOME": str(tmp_path / "home"), "ASCEND_HOME_PATH": str(cann.root)}
    found = npu_build.find_toolchain(environment=environment)
    assert (found.root, found.version) == (cann.root, (9, 0))
    del environment["ASCEND_HOME_PATH"]
    assert npu_build.find_toolchain(environment=environment).root == other.root
    with pytest.raises(npu_build.CannError, match="no CANN compiler.*nowhere"):
        npu_build.find_toolchain(tmp_path / "nowhere")


def test_other_families_are_refused(tmp_path, kernel):
    toolchain = npu_build.find_toolchain(Cann(tmp_path / "cann").root)
    with pytest.raises(npu_build.CannError, match="not for ascend310p"):
        npu_build.commands(toolchain, kernel, "op.o", "ascend310p")


def test_as_the_build_calls_it(tmp_path, kernel):
    cann = Cann(tmp_path / "cann")
    script = [sys.executable, str(ROOT / "ascend_cy" / "_npu_build.py")]
    clean = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND")}
    found = subprocess.run([*script, "--find", "--cann", str(cann.root)], capture_output=True, text=True, env=clean)
    assert (found.returncode, found.stdout.strip()) == (0, str(cann.root))
    missing = subprocess.run([*script, "--find", "--cann", str(tmp_path)], capture_output=True, text=True, env=clean)
    assert missing.returncode == 1 and "no CANN compiler" in missing.stderr
    built = subprocess.run([*script, str(kernel), "-o", str(tmp_path / "op.o"), "--cann", str(cann.root)], env=clean)
    assert built.returncode == 0 and (tmp_path / "op.o").is_file()


def test_the_command_compiles_into_the_users_cache(tmp_path, monkeypatch, capsys):
    """`ascend-cy build-kernels`, where the package is installed."""
    command = pytest.importorskip("ascend_cy._cli_build_kernels")
    if not command.sources():
        pytest.skip("the package in use holds no kernel sources")
    cann = Cann(tmp_path / "cann")
    monkeypatch.setenv("ASCEND_CY_CACHE_DIR", str(tmp_path / "cache"))
    import argparse

    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    assert command.run(parser.parse_args(["--cann", str(cann.root), "--soc", "ascend910b"])) == 0
    made = sorted(p.name for p in (tmp_path / "cache" / "kernels" / "ascend910b").iterdir())
    assert {"layernorm.o", "vector_add.o"} <= set(made)
    assert len(capsys.readouterr().out.splitlines()) == len(made)
    assert command.run(parser.parse_args(["--cann", str(cann.root), "--dry-run", "--op", "vector_add"])) == 0
    compile_line, link_line = capsys.readouterr().out.splitlines()
    assert "--npu-arch=dav-2201" in compile_line and "-m aicorelinux" in link_line
