# SPDX-License-Identifier: Apache-2.0
"""The command lines of the NPU build, against stand-ins for CANN's compiler and linker that record their arguments."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cann import Cann

ROOT = Path(__file__).resolve().parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "ascend_cy" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


npu_build = load("_npu_build")

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


def test_the_command_as_users_call_it(tmp_path):
    """The same from the command line: both families, and a machine without CANN."""
    pytest.importorskip("ascend_cy")
    cann = Cann(tmp_path / "cann", "8.5.0")
    clean = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND")}
    clean |= {"HOME": str(tmp_path), "ASCEND_CY_CACHE_DIR": str(tmp_path / "cache")}

    main = "from ascend_cy.cli import main; raise SystemExit(main())"

    def call(*words):
        return subprocess.run([sys.executable, "-c", main, "build-kernels", *words], capture_output=True, text=True,
                              env=clean, cwd=tmp_path)

    if "no source" in (first := call("--op", "vector_add", "--cann", str(cann.root))).stderr:
        pytest.skip("the package in use holds no kernel sources")
    assert (first.returncode, first.stderr) == (0, "")
    made = call("--cann", str(cann.root), "--soc", "ascend910b", "--soc", "ascend910_93")
    assert (made.returncode, made.stderr) == (0, "")
    for family in ("ascend910b", "ascend910_93"):
        names = {p.name for p in (tmp_path / "cache/kernels" / family).iterdir()}
        assert {"layernorm.o", "layernorm_backward.o", "matmul.o", "vector_add.o"} == names
    for line in cann.calls()[::2]:  # compiler and linker take turns
        assert line[0] == "bisheng" and Path(line[line.index("asc") + 1]).is_file()
    nothing = call("--cann", str(tmp_path / "empty"))
    assert nothing.returncode != 0 and "no CANN compiler" in nothing.stderr and "Traceback" not in nothing.stderr
    clean["STAND_IN_FAILS"] = "bisheng"
    failed = call("--cann", str(cann.root), "--output", str(tmp_path / "other"))
    assert failed.returncode != 0 and "no such intrinsic" in failed.stderr and "Traceback" not in failed.stderr


class TestMesonOptions:
    """`-Dcann=…`, `-Dcann_root=…` and `-Dnpu_families=…` of a whole configuration."""

    MESON = shutil.which("meson")

    @pytest.fixture(autouse=True)
    def _needs_meson(self):
        if self.MESON is None or shutil.which("ninja") is None:
            pytest.skip("needs meson and ninja")

    def setup(self, folder, *options):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("ASCEND")} | {"HOME": str(folder.parent)}
        return subprocess.run([self.MESON, "setup", str(folder), str(ROOT), *options], capture_output=True, text=True,
                              env=clean)

    def test_enabled_without_cann_is_an_error(self, tmp_path):
        done = self.setup(tmp_path / "build", "-Dcann=enabled", f"-Dcann_root={tmp_path}")
        assert done.returncode != 0 and "no CANN compiler" in done.stdout and str(tmp_path) in done.stdout

    @pytest.mark.parametrize("cann", ["auto", "disabled"])
    def test_without_kernels_for_npus(self, tmp_path, cann):
        root = tmp_path if cann == "auto" else Cann(tmp_path / "cann").root
        done = self.setup(tmp_path / "build", f"-Dcann={cann}", f"-Dcann_root={root}")
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"NPU kernels\s*: no", done.stdout)
        plan = json.loads((tmp_path / "build/meson-info/intro-install_plan.json").read_text())
        assert not [f for part in plan.values() for f in part if f.endswith(".o")]

    @pytest.mark.parametrize("cann", ["auto", "enabled"])
    def test_kernels_for_both_families(self, tmp_path, cann):
        stand_in = Cann(tmp_path / "cann", "8.5.0")
        build = tmp_path / "build"
        done = self.setup(build, f"-Dcann={cann}", f"-Dcann_root={stand_in.root}", "-Dnpu_families=ascend910b,ascend910_93")
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"NPU kernels\s*: ascend910b, ascend910_93", done.stdout)
        operators = ("layernorm", "layernorm_backward", "matmul", "vector_add")
        files = [f"csrc/ascendc/npu/{family}/{op}.o" for family in ("ascend910b", "ascend910_93") for op in operators]
        subprocess.run(["ninja", "-C", str(build), *files], check=True, capture_output=True)
        assert all((build / f).read_text() == "made by ld.lld" for f in files)
        plan = json.loads((build / "meson-info/intro-install_plan.json").read_text())
        places = {d["destination"] for part in plan.values() for f, d in part.items() if f.endswith(".o")}
        wanted = {f"ascend_cy/kernels/{family}/{op}.o" for family in ("ascend910b", "ascend910_93") for op in operators}
        assert {"/".join(Path(p).parts[-4:]) for p in places} == wanted
        sources = {word for call in stand_in.calls() if call[0] == "bisheng" for word in call if word.endswith(".cpp")}
        assert {(build / s).resolve() for s in sources} == {ROOT / "kernels" / op / f"{op}.cpp" for op in operators}
