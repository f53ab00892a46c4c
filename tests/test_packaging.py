# SPDX-License-Identifier: Apache-2.0
"""What is installed and what is shipped, and builds and first imports that go wrong."""

from __future__ import annotations

import fnmatch
import importlib.machinery
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import child
import pytest

import ascend_cy

ROOT = Path(__file__).resolve().parents[1]
CONTENTS = Path(__file__).resolve().parent / "helpers" / "wheel_contents.txt"
HANG = 280


def installed_files() -> list[str]:
    """What the wheel brought, with the parts of names that differ between builds as words."""
    suffix = importlib.machinery.EXTENSION_SUFFIXES[0]
    names = set()
    for file in importlib.metadata.files("ascend-cy"):
        name = re.sub(r"^ascend_cy-[^/]+\.dist-info/", "DIST-INFO/", file.as_posix()).replace(suffix, ".EXTENSION")
        # What pip adds, and what importing leaves behind.
        if not name.startswith("..") and "__pycache__" not in name and not re.match(
                r"DIST-INFO/(INSTALLER|REQUESTED|direct_url\.json|RECORD|sboms/)", name):
            names.add(name)
    return sorted(names)


def recorded() -> tuple[set[str], list[str]]:
    """Names, and patterns of what only some machines' builds have (marked by ?)."""
    lines = [line for line in CONTENTS.read_text().splitlines() if line and not line.startswith("#")]
    return {line for line in lines if not line.startswith("? ")}, [line[2:] for line in lines if line.startswith("? ")]


def test_contents_are_those_listed():
    """After an intended change, run this file as a script."""
    if "editable" in " ".join(sys.modules):
        pytest.skip("an editable install has the files elsewhere")
    wanted, patterns = recorded()
    found = set(installed_files())
    assert wanted <= found, f"missing: {sorted(wanted - found)}"
    strays = {name for name in found - wanted if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)}
    assert not strays, f"not listed: {sorted(strays)}"


def test_the_wheel_is_self_contained():
    """Every library that it needs comes with it, is a declared dependency, or is the system's C and C++ runtime."""
    package = Path(ascend_cy.__file__).resolve().parent
    if shutil.which("readelf") is None:
        pytest.skip("readelf is not installed")
    system = r"lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so\.\d+|ld-linux.*"
    own = {path.name for path in package.glob("*.so")}
    for path in package.rglob("*.so"):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", subprocess.run(["readelf", "-d", path], capture_output=True, text=True,
                                                                  check=True).stdout)
        others = {name for name in needed if not re.fullmatch(system, name) and name not in own}
        assert others <= {"libscipy_openblas.so"}, f"{path.name} needs {others}"


# ---- the source distribution ----


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The last commit, as a checkout of its own."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not in a git checkout")
    folder = tmp_path_factory.mktemp("clone") / "ascend-cy"
    subprocess.run(["git", "clone", "-q", "--depth=1", f"file://{ROOT}", str(folder)], check=True)
    return folder


def build_environment(folder: Path, extra: dict[str, str] | None = None) -> dict[str, str]:
    import downstream

    return downstream.environment(folder, extra)


def needs_build_tools() -> None:
    import downstream

    downstream.needs("mesonpy", "Cython")


def test_the_source_distribution_holds_every_file(clone, tmp_path):
    needs_build_tools()
    code = "import mesonpy, sys; print(mesonpy.build_sdist(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=clone, capture_output=True, text=True, timeout=HANG,
                          env=build_environment(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = tmp_path.glob("ascend_cy-*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
    tracked = subprocess.run(["git", "ls-files"], cwd=clone, capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
    assert set(tracked) <= names and "PKG-INFO" in names
    for suffix in (".pxd", ".pyi", ".h"):
        assert any(name.endswith(suffix) for name in names)


# ---- NumPy, from the oldest to the newest ----

# The first release with wheels for a Python, where it is younger than the oldest that we allow.
FIRST_NUMPY = {(3, 12): "1.26.0", (3, 13): "2.1.0"}


@pytest.fixture(params=["oldest", "newest"])
def numpy_version(request):
    """What pip is asked for."""
    import downstream

    downstream.needs_index()
    (oldest,) = re.findall(r"numpy>=([\d.]+)", " ".join(importlib.metadata.requires("ascend-cy")))
    return "numpy==" + FIRST_NUMPY.get(sys.version_info[:2], oldest) if request.param == "oldest" else "numpy"


USES_NUMPY = """
import sys
import numpy as np
import ascend_cy

wanted = sys.argv[1]
assert np.__file__.startswith(sys.argv[2]) and wanted in ("numpy", "numpy==" + np.__version__), (np.__version__, np.__file__)
x = np.random.default_rng(0).normal(3, 2, (40, 65)).astype("f4")
right = (x - x.mean(-1, keepdims=True, dtype="f8")) / np.sqrt(x.var(-1, keepdims=True, dtype="f8") + 1e-5)
for dtype, tolerance in (("f4", 1e-5), ("f2", 4e-3)):
    given = x.astype(dtype)
    assert np.abs(ascend_cy.layernorm(given) - right).max() < tolerance
    assert np.abs(ascend_cy.layernorm(np.asfortranarray(given)) - right).max() < tolerance
    array = ascend_cy.asarray(given)
    assert array.dtype == np.dtype(dtype) and np.array_equal(array[::2].to_numpy(), given[::2])
    assert np.array_equal(ascend_cy.vector_add(array, array).to_numpy(), given + given)
    if ascend_cy.device_info()["unified"]:
        assert np.array_equal(np.from_dlpack(array), given)
for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"):
    assert np.array_equal(ascend_cy.full(3, 1, dtype).to_numpy(), np.ones(3, dtype))
assert ascend_cy.empty_pinned((2, 3), "f4").shape == (2, 3)
try:
    ascend_cy.layernorm(x.astype("f8"))
    raise SystemExit("float64 was taken")
except TypeError:
    pass
print("done")
"""


def test_numpy_versions(numpy_version, tmp_path):
    """The oldest and the newest that may be installed with the package as it was built."""
    numpy = tmp_path / "numpy"
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--only-binary=:all:", "--target", str(numpy),
                    numpy_version], check=True, capture_output=True, timeout=HANG)
    path = os.pathsep.join([str(numpy), child.environment()["PYTHONPATH"]])
    assert child.check(USES_NUMPY, tmp_path, args=[numpy_version, numpy], env={"PYTHONPATH": path}) == "done\n"


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_the_tests_pass_with_numpy_versions(numpy_version, tmp_path):
    """The same with the tests, in an environment of its own with the wheel and what it depends on."""
    import downstream

    wheel = downstream.own_wheel(tmp_path / "wheel")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    downstream.command([str(venv / "bin/python"), "-m", "pip", "install", "-q", str(wheel), numpy_version, "pytest>=8",
                        "pytest-timeout", "hypothesis", "ml_dtypes", "Cython>=3.1", "setuptools"], tmp_path, build_environment(tmp_path))
    tests = [str(ROOT / "tests" / f"test_{name}.py") for name in ("device_array", "dlpack", "layernorm_numbers", "vector_add_matmul",
                                                                  "memory_pool", "arguments", "modules")]
    # Not from the checkout, whose folder of sources has the package's name.
    done = subprocess.run([str(venv / "bin/pytest"), "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "--rootdir",
                           str(ROOT), *tests], cwd=tmp_path, env=build_environment(tmp_path), capture_output=True, text=True,
                          timeout=2800)
    assert done.returncode == 0 and re.search(r"\d{3,} passed", done.stdout), done.stdout[-6000:] + done.stderr[-2000:]


# ---- builds and imports that go wrong ----


@pytest.mark.parametrize("variable", ["CC", "CXX"])
def test_a_compiler_that_is_not_there_is_named(clone, tmp_path, variable):
    """By the first line of the build that speaks of an error."""
    needs_build_tools()
    code = "import mesonpy, sys; mesonpy.build_wheel(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=clone, capture_output=True, text=True, timeout=HANG,
                          env=build_environment(tmp_path, {variable: "/nowhere/compiler"}))
    assert done.returncode != 0
    first = next(line for line in (done.stdout + done.stderr).splitlines() if re.search(r"\berror\b", line, re.IGNORECASE))
    assert "/nowhere/compiler" in first, done.stdout + done.stderr
    assert not list(tmp_path.glob("*.whl"))


def test_an_old_python_is_told_so():
    """pip compares it before it builds."""
    assert importlib.metadata.metadata("ascend-cy")["Requires-Python"] in (">=3.10,<3.14", "<3.14,>=3.10")


def test_the_sources_in_the_way_are_told(tmp_path):
    """Python in the checkout's root finds the folder of sources first; it says so, and how to get the installed package."""
    code = "import ascend_cy"
    env = {name: value for name, value in child.environment().items() if name != "PYTHONPATH"}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, timeout=HANG)
    if done.returncode == 0:
        pytest.skip("an editable install takes the name first")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: ") and "not an installed package" in last and "PYTHONSAFEPATH" in last
    if sys.version_info >= (3, 11):
        safe = subprocess.run([sys.executable, "-c", code + "; print(ascend_cy.__file__)"], cwd=ROOT,
                              env={**env, "PYTHONSAFEPATH": "1"}, capture_output=True, text=True, timeout=HANG)
        assert safe.returncode == 0 and safe.stdout.strip() == ascend_cy.__file__


def test_isolated_interpreters_import_it(tmp_path):
    """Neither the environment's variables nor the user's folder nor the current one are needed."""
    done = subprocess.run([sys.executable, "-I", "-W", "error", "-c", "import ascend_cy; print(ascend_cy.device_info()['kind'])"],
                          cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True, timeout=HANG)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.strip() in ("cpu", "npu")


def test_a_moved_installation_works(tmp_path):
    """Libraries and kernels are found beside the package wherever it lies: another environment, a mounted folder."""
    package = Path(ascend_cy.__file__).resolve().parent
    shutil.copytree(package, tmp_path / "moved" / "ascend_cy", ignore=shutil.ignore_patterns("__pycache__", "bench", "examples"))
    code = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import ascend_cy
    assert ascend_cy.__file__.startswith(sys.argv[1])
    assert ascend_cy.ones((2, 3)).to_numpy().all()
    assert ascend_cy.layernorm(ascend_cy.ones((2, 3))).to_numpy().shape == (2, 3)
    with open("/proc/self/maps") as maps:
        ours = {line.split()[-1] for line in maps if "ascend" in line.split("/")[-1]}
    assert ours and all(path.startswith(sys.argv[1]) for path in ours), ours
    """
    child.check(code, tmp_path, args=[tmp_path / "moved"], env={"ASCEND_CY_DEVICE": "cpu"})


@pytest.mark.slow
@pytest.mark.timeout(3300)
def test_an_editable_install_outlives_the_build(clone, tmp_path):
    """As docs/packaging.md says it, in an environment of its own over the packages of this one."""
    needs_build_tools()
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    (site / "others.pth").write_text("\n".join(others) + "\n")
    env = {**build_environment(tmp_path), "CFLAGS": "", "CXXFLAGS": ""}
    done = subprocess.run([str(venv / "bin/python"), "-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", "-e", "."],
                          cwd=clone, env=env, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout + done.stderr
    code = """
import os
import ascend_cy
assert ascend_cy.layernorm(ascend_cy.ones((2, 3))).shape == (2, 3)
assert os.path.isfile(ascend_cy.get_include() + "/ascend_cy/acl.h") and os.path.isfile(ascend_cy.get_library_dir() + "/libascend_cy.so")
source = '''
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void put(GM_ADDR x) { ((__gm__ float *)x)[0] = 3; }
'''
x = ascend_cy.zeros(2)
ascend_cy.compile(source).kernel("put")[1](x)
assert x.to_numpy().tolist() == [3, 0]
print(ascend_cy.__file__)
"""
    # A new process, later: whatever the build had for itself is gone.
    used = subprocess.run([str(venv / "bin/python"), "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=HANG)
    assert used.returncode == 0 and str(clone) in used.stdout, used.stdout + used.stderr
    # Cython finds the declarations where docs/cimport.md says.
    (tmp_path / "user.pyx").write_text("from ascend_cy cimport ABI_VERSION, DeviceArray, array_ndim, check_abi\n\ncheck_abi(ABI_VERSION)\n"
                                       "\n\ndef axes(DeviceArray array):\n    return array_ndim(array)\n")
    (tmp_path / "build.py").write_text(
        "from Cython.Build import cythonize\nfrom setuptools import Extension, setup\n"
        "setup(name='user', packages=[], script_args=['-q', 'build_ext', '--inplace'],\n"
        f"      ext_modules=cythonize([Extension('user', ['user.pyx'])], include_path=[{str(clone)!r}], language_level=3, quiet=True))\n")
    code = "import ascend_cy, user; assert user.axes(ascend_cy.ones((2, 3))) == 2"
    for words in (["build.py"], ["-W", "error", "-c", code]):
        built = subprocess.run([str(venv / "bin/python"), *words], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=HANG)
        assert built.returncode == 0, built.stdout + built.stderr


def test_cibuildwheel_builds_what_is_supported():
    tomllib = pytest.importorskip("tomllib", reason="tomllib came with Python 3.11")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheels = project["tool"]["cibuildwheel"]
    versions = re.findall(r"Python :: (3\.\d+)", " ".join(project["project"]["classifiers"]))
    assert wheels["build"].split() == [f"cp{version.replace('.', '')}-*" for version in versions]
    assert wheels["archs"] == ["x86_64", "aarch64"]
    repair = wheels["linux"]["repair-wheel-command"]
    assert "--exclude 'libscipy_openblas*'" in repair and "--exclude 'libscipy_openblas*'" in (ROOT / "tools/build_wheels.sh").read_text()


if __name__ == "__main__":
    _, patterns = recorded() if CONTENTS.exists() else (set(), [])
    patterns = patterns or ["ascend_cy/kernels/cpu/*.so", "ascend_cy/kernels/ascend910*/*.o"]
    names = [name for name in installed_files() if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    CONTENTS.write_text("\n".join(["# Made by running tests/test_packaging.py as a script. ?: what differs between machines.", *names,
                                   *(f"? {pattern}" for pattern in patterns)]) + "\n")
