# SPDX-License-Identifier: Apache-2.0
"""Packages built on the installed ascend_cy: the examples, the binary interface that they were compiled against, their wheels."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import child
import downstream
import embedded
import pytest

import ascend_cy

PACKAGE = Path(ascend_cy.__file__).resolve().parent
EXAMPLES = {"cython_meson": ("Cython", "mesonpy"), "cython_setuptools": ("Cython", "setuptools"),
            "cpp_pybind11": ("pybind11", "setuptools")}


@pytest.fixture(scope="module", params=sorted(EXAMPLES))
def example(request, tmp_path_factory):
    """(name, folder, wheel) of one example."""
    downstream.needs(*EXAMPLES[request.param])
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, folder, downstream.build(request.param, folder)


def test_every_example_is_built():
    assert {path.name for path in downstream.EXAMPLES.iterdir() if path.is_dir()} == set(EXAMPLES)


def test_the_examples_tests_pass(example):
    name, folder, wheel = example
    site = downstream.install(wheel, folder)
    (tests,) = (folder / name).glob("test_*.py")
    wanted = re.findall(r"(?m)^def (test_\w+)", tests.read_text())
    ran = downstream.command([sys.executable, "-W", "error", str(tests)], folder,
                             downstream.environment(folder, {"PYTHONPATH": str(site)}))
    assert ran.splitlines() == [f"{test} passed" for test in wanted] and wanted


def test_an_example_with_build_isolation(tmp_path):
    """Its build environment is pip's own, with the ascend-cy that is asked for and nothing else of this one."""
    downstream.needs()
    downstream.needs_index()
    downstream.own_wheel(tmp_path / "links")
    wheel = downstream.build("cython_setuptools", tmp_path, "-q", "--find-links", str(tmp_path / "links"))
    site = downstream.install(wheel, tmp_path)
    downstream.command([sys.executable, "-W", "error", str(tmp_path / "cython_setuptools" / "test_feature_rows.py")], tmp_path,
                       downstream.environment(tmp_path, {"PYTHONPATH": str(site)}))


def test_wheels_hold_nothing_of_ours(example):
    name, folder, wheel = example
    assert not foreign(wheel)
    with zipfile.ZipFile(wheel) as archive:
        for module in [entry for entry in archive.namelist() if entry.endswith(".so")]:
            archive.extract(module, folder / "unpacked")
            dynamic = subprocess.run(["readelf", "-d", folder / "unpacked" / module], capture_output=True, text=True, check=True)
            assert "libascend" not in dynamic.stdout, f"{module} links a library of ours"


def test_repaired_wheels_hold_nothing_of_ours(example):
    """auditwheel copies every library that a wheel links from outside; of ours there is none to copy."""
    name, folder, wheel = example
    if importlib.util.find_spec("auditwheel") is None or shutil.which("patchelf", path=downstream.environment(folder)["PATH"]) is None:
        pytest.skip("auditwheel or patchelf is not installed")
    downstream.command([sys.executable, "-m", "auditwheel", "repair", "-w", str(folder / "repaired"), str(wheel)], folder,
                       downstream.environment(folder))
    (repaired,) = (folder / "repaired").glob("*.whl")
    assert "manylinux" in repaired.name
    assert not foreign(repaired)


def foreign(wheel: Path) -> list[str]:
    """Shared objects in a wheel that are no extension modules, and files named after us."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    return [name for name in names if "ascend" in name or ".libs/" in name or re.search(r"\.so(\.|$)", name.replace(".cpython", ""))
            and not re.search(r"\.(cpython-\d+|abi3)[^/]*\.so$", name)]


# ---- the binary interface ----

CONSUMER = """
# cython: language_level=3
from ascend_cy cimport ABI_VERSION, DeviceArray, Stream, array_data, check_abi, stream_handle

check_abi(ABI_VERSION)


def of(DeviceArray array, Stream stream):
    return array_data(array) is not NULL, stream_handle(stream) is NULL
"""


def build_consumer(folder: Path, change) -> Path:
    """A module compiled against other .pxd files than those installed: change(name, text) gives each file's text."""
    downstream.needs("Cython", "setuptools")
    old = folder / "other" / "ascend_cy"
    old.mkdir(parents=True)
    for path in PACKAGE.glob("*.pxd"):
        (old / path.name).write_text(change(path.stem, path.read_text()))
    (old / "__init__.py").write_text("")
    (folder / "consumer.pyx").write_text(CONSUMER)
    # Cython looks for .pxd files here first.
    (folder / "build.py").write_text(
        "from Cython.Build import cythonize\nfrom setuptools import Extension, setup\n"
        "setup(name='consumer', packages=[], script_args=['-q', 'build_ext', '--inplace'],\n"
        "      ext_modules=cythonize([Extension('consumer', ['consumer.pyx'])], include_path=['other'], quiet=True))\n")
    downstream.command([sys.executable, "build.py"], folder, downstream.environment(folder))
    (module,) = folder.glob("consumer.*.so")
    return module


USE = """
import sys
sys.path.insert(0, sys.argv[1])
import ascend_cy, consumer
assert consumer.of(ascend_cy.zeros(3), ascend_cy.default_stream()) == (True, True)
"""


def test_another_number_is_a_readable_error(tmp_path):
    build_consumer(tmp_path, lambda name, text: re.sub(r"ABI_VERSION = \d+", "ABI_VERSION = 999", text))
    status, out, err = child.run(USE, tmp_path, args=[tmp_path])
    assert status == 1
    assert err.splitlines()[-1] == ("ImportError: this module was compiled against binary interface 999 of ascend_cy, but the "
                                    "installed ascend_cy has 1: build it again")


def test_another_signature_is_told_at_import(tmp_path):
    build_consumer(tmp_path, lambda name, text: text.replace("cdef void *array_data(DeviceArray array) except? NULL nogil",
                                                             "cdef void *array_data(DeviceArray array, int n=*) except? NULL nogil"))
    status, out, err = child.run(USE, tmp_path, args=[tmp_path])
    assert status == 1 and "array_data has wrong signature" in err.splitlines()[-1], err


def older(name: str, text: str) -> str:
    """As an older release may have been: some fields still reserved, and without functions that came after."""
    for module, field in (("_stream", "parked"), ("_array", "home")):
        if name == module:
            text = re.sub(rf"(?m)^    cdef void \*{field} .*\n    cdef void \*reserved\[4\]", "    cdef void *reserved[5]", text)
    return re.sub(r"\blayernorm_backward_device,\s*", "", text) if name == "__init__" else text


def test_consumers_of_an_older_release_go_on(tmp_path):
    """Fields and functions that were added since change nothing for them, and nothing is warned of."""
    changed = [name for name in ("__init__", "_array", "_stream") if older(name, text := (PACKAGE / f"{name}.pxd").read_text()) != text]
    assert changed == ["__init__", "_array", "_stream"]
    build_consumer(tmp_path, older)
    child.check(USE, tmp_path, args=[tmp_path])


def test_the_numbers_of_c_and_cython_are_one():
    header = (PACKAGE / "include/ascend_cy/runtime.h").read_text()
    assert re.findall(r"ABI_VERSION = (\d+)", (PACKAGE / "_core.pxd").read_text()) == re.findall(
        r"define ASCEND_CY_ABI_VERSION (\d+)", header)


C_MODULE = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include "ascend_cy/symbol.h"
static PyObject *misfit(PyObject *self, PyObject *args)
{
    const char *text = ascend_cy_misfit();
    (void)self; (void)args;
    if (text == NULL) Py_RETURN_NONE;
    return PyUnicode_FromString(text);
}
static PyMethodDef methods[] = {{"misfit", misfit, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "NAME", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_NAME(void) { return PyModule_Create(&definition); }
"""


def test_c_programs_compare_the_number_as_well(tmp_path):
    import sysconfig

    headers = tmp_path / "headers"
    shutil.copytree(PACKAGE / "include" / "ascend_cy", headers / "ascend_cy")
    runtime = headers / "ascend_cy" / "runtime.h"
    runtime.write_text(re.sub(r"ASCEND_CY_ABI_VERSION \d+", "ASCEND_CY_ABI_VERSION 999", runtime.read_text()))
    for name, include in (("fits", ascend_cy.get_include()), ("other", headers)):
        source = tmp_path / f"{name}.c"
        source.write_text(C_MODULE.replace("NAME", name))
        subprocess.run([*embedded.compiler("CC", "cc"), "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", f"-I{include}",
                        f"-I{sysconfig.get_paths()['include']}", str(source), "-o", str(tmp_path / f"{name}.so"), "-ldl"], check=True)
    code = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import fits, other
    assert "import ascend_cy` first" in fits.misfit(), fits.misfit()
    import ascend_cy
    assert fits.misfit() is None, fits.misfit()
    assert "compiled against binary interface 999 of ascend_cy" in other.misfit(), other.misfit()
    """
    child.check(code, tmp_path, args=[tmp_path])
