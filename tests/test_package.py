# SPDX-License-Identifier: Apache-2.0
"""The package as users and their compilers meet it: names, docstrings, stubs, installed files, and the order of its layers."""

from __future__ import annotations

import ast
import doctest
import importlib.metadata
import inspect
import os
import pickle
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import child
import numpy as np
import pytest
from stub import signatures

import ascend_cy

PACKAGE = Path(ascend_cy.__file__).resolve().parent
ROOT = Path(__file__).resolve().parents[1]
SURFACE = Path(__file__).resolve().parent / "helpers" / "pxd_surface.txt"

PUBLIC_PXD = ("__init__.pxd", "_core.pxd", "_stream.pxd", "_pool.pxd", "_array.pxd", "_ops.pxd", "_acl.pxd")


def behind_the_package() -> list[str]:
    """The .pxd files that `cimport ascend_cy` reads."""
    seen: list[str] = []
    todo = ["__init__"]
    while todo:
        name = todo.pop(0)
        if name not in seen:
            seen.append(name)
            todo += re.findall(r"(?m)^from ascend_cy\.(\w+) cimport", (PACKAGE / f"{name}.pxd").read_text())
    return seen


# ---- names ----


def test_all_is_honest():
    names = {}
    exec("from ascend_cy import *", names)
    assert set(ascend_cy.__all__) <= set(names)
    assert len(set(ascend_cy.__all__)) == len(ascend_cy.__all__)
    for name in ascend_cy.__all__:
        assert getattr(ascend_cy, name) is not None, name


def test_nothing_public_is_missing_from_all():
    import __future__

    public = {name for name, value in vars(ascend_cy).items()
              if not name.startswith("_") and not isinstance(value, (types.ModuleType, __future__._Feature))}
    assert public <= set(ascend_cy.__all__)


def test_submodules_have_an_honest_all():
    assert set(ascend_cy.errors.__all__) == {name for name, value in vars(ascend_cy.errors).items()
                                             if inspect.isclass(value) and value.__module__ == "ascend_cy.errors"}
    assert set(ascend_cy.errors.__all__) <= set(ascend_cy.__all__)


def test_public_names_say_where_they_live():
    for name in ascend_cy.__all__:
        value = getattr(ascend_cy, name)
        if hasattr(value, "__module__"):
            assert value.__module__.split(".")[0] == "ascend_cy", name
        if hasattr(value, "__name__"):
            assert value.__name__ == name


def test_the_version_is_stated_once():
    assert ascend_cy.__version__ == importlib.metadata.version("ascend-cy")
    stated = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())
    assert stated and stated[1] == ascend_cy.__version__


def test_import_loads_little(tmp_path):
    """NumPy and the standard library; what only some users need is loaded when they need it."""
    code = """
    import sys, numpy
    before = set(sys.modules)
    import ascend_cy
    loaded = {name.split(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
    # Cython's shared types have a module of their own, named after its version.
    loaded = {name for name in loaded if not name.startswith(("_cython_", "cython_runtime"))}
    assert loaded == {"ascend_cy"}, loaded
    assert "argparse" not in sys.modules or "argparse" in before
    """
    child.check(code, tmp_path)


# ---- docstrings ----

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes", "References", "Examples")


def public_objects():
    """(qualified name, object) of all that users call."""
    for name in ascend_cy.__all__:
        value = getattr(ascend_cy, name)
        if inspect.ismodule(value) or isinstance(value, str):
            continue
        yield name, value
        if inspect.isclass(value):
            for member, item in vars(value).items():
                if not member.startswith("_") and (callable(item) or isinstance(item, (staticmethod, classmethod))
                                                   or inspect.isdatadescriptor(item)):
                    yield f"{name}.{member}", item


OBJECTS = dict(public_objects())


def docstring(name: str) -> str:
    """Without the signature that Cython writes in front."""
    text = inspect.cleandoc(OBJECTS[name].__doc__ or "")
    lines = text.split("\n")
    if re.match(rf"{re.escape(name.split('.')[-1])}\(|{re.escape(name)}\(", lines[0]) and len(lines) > 1:
        text = "\n".join(lines[1:]).strip("\n")
    return text


def sections(text: str) -> dict[str, str]:
    """The parts of a NumPy docstring below their underlined titles; "" is what stands before the first."""
    parts = re.split(r"(?m)^([A-Z][A-Za-z ]+)\n(-{3,})$", text)
    result = {"": parts[0]}
    for title, line, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        assert len(line) == len(title), f"the line below {title!r} has another length"
        assert title not in result, f"{title!r} twice"
        result[title] = body
    return result


@pytest.mark.parametrize("name", OBJECTS)
def test_docstring(name):
    text = docstring(name)
    assert text, f"{name} has no docstring"
    summary = text.split("\n\n")[0].replace("\n", " ")
    assert summary.endswith("."), summary
    assert summary[0].isupper() or summary[0] in "`0123456789" or inspect.isdatadescriptor(OBJECTS[name]), summary
    found = sections(text)
    order = [title for title in found if title]
    assert set(order) <= set(SECTIONS), order
    assert order == sorted(order, key=SECTIONS.index), f"the order of sections is {order}"
    assert all(len(line) <= 120 for line in text.split("\n"))


def documented(body: str) -> list[str]:
    """The names before the colons of a Parameters section."""
    names = []
    for line in body.split("\n"):
        match = re.match(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)\s*(?::|$)", line)
        if match:
            names += [part.strip().lstrip("*") for part in match[1].split(",")]
    return names


SIGNATURES = signatures(PACKAGE)


@pytest.mark.parametrize("name", [name for name in OBJECTS if not inspect.isdatadescriptor(OBJECTS[name])])
def test_documented_parameters_are_those_of_the_signature(name):
    value = OBJECTS[name]
    parameters = SIGNATURES.get(f"{name}.__init__" if inspect.isclass(value) else name)
    if parameters is None:  # an exception or a warning: what it inherits is described there
        parameters = [] if "__init__" not in vars(value) else list(inspect.signature(value).parameters)
    parts = sections(docstring(name))
    if "Parameters" not in parts:
        # Short ones may do without where the text names each parameter.
        missing = [parameter for parameter in parameters
                   if not re.search(rf"\b{parameter}\b|Parameters as for", parts[""] + parts.get("Raises", ""))]
        assert not missing, f"{name} does not say what {missing} are"
        return
    assert documented(parts["Parameters"]) == parameters


def test_examples_of_docstrings_run():
    finder, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    ran = 0
    for name in OBJECTS:
        examples = finder.get_doctest(docstring(name), {"np": np, "ascend_cy": ascend_cy}, name, None, 0)
        if examples.examples:
            result = runner.run(examples)
            assert result.failed == 0, f"an example of {name} fails"
            ran += result.attempted
    assert ran > 5


# ---- stubs ----


def test_the_stub_names_what_is_there():
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    named = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            named.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            named.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            named.update(alias.asname for alias in node.names if alias.asname == alias.name)
    assert {name for name in named if not name.startswith("_") or name == "__version__"} == set(ascend_cy.__all__)
    for name, value in OBJECTS.items():
        if "." in name and not inspect.isdatadescriptor(value):
            assert name in SIGNATURES or not hasattr(ascend_cy, name.split(".")[0]) or issubclass(
                getattr(ascend_cy, name.split(".")[0]), (Exception, Warning)), f"{name} has no stub"


@pytest.fixture(scope="module")
def mypy_config(tmp_path_factory):
    pytest.importorskip("mypy", reason="stubs not checked: mypy is not installed")
    folder = tmp_path_factory.mktemp("mypy")
    config = folder / "mypy.ini"
    # The stub of the package is what is checked; its tools may import what is not installed here.
    config.write_text(f"[mypy]\ncache_dir = {folder / 'cache'}\nignore_missing_imports = True\nignore_errors = True\n"
                      "[mypy-ascend_cy]\nignore_errors = False\n")
    return config


def test_stubs_agree_with_the_code(mypy_config, tmp_path):
    allowed = tmp_path / "allowed.txt"
    # What the interpreter and Cython add to a class; private modules and tools.
    allowed.write_text("\n".join([r"ascend_cy\.\w+\.__(reduce|setstate|pyx)\w*__",
                                  r"ascend_cy\.\w+\.__(buffer|release_buffer)__", r"ascend_cy\._.*",
                                  r"ascend_cy\.Event\.__init__",  # its signature is not to be had from Cython
                                  r"ascend_cy\.annotations", r"ascend_cy\.(cli|sim|bench)\b.*"]) + "\n")
    command = [sys.executable, "-m", "mypy.stubtest"]
    options = subprocess.run([*command, "--help"], cwd=tmp_path, capture_output=True, text=True).stdout
    newer = [option for option in ("--ignore-disjoint-bases",) if option in options]
    ran = subprocess.run([*command, "ascend_cy", "--ignore-missing-stub", "--allowlist", str(allowed), *newer,
                          "--ignore-unused-allowlist", "--mypy-config-file", str(mypy_config)],
                         cwd=tmp_path, capture_output=True, text=True, timeout=280, env=child.environment())
    assert ran.returncode == 0, ran.stdout + ran.stderr


TYPED = """
from typing import Any

import numpy as np
import numpy.typing as npt
import ascend_cy

x: npt.NDArray[Any] = ascend_cy.layernorm(np.ones((2, 3), np.float32))
d: ascend_cy.DeviceArray = ascend_cy.layernorm(ascend_cy.zeros((2, 3)))
with ascend_cy.Stream() as stream:
    event: ascend_cy.Event = stream.record()
y, mean, rstd = ascend_cy.layernorm(d, return_stats=True)
view: ascend_cy.DeviceArray = d[0, ::2, None, ...]
number: int = view.ptr
host: npt.NDArray[Any] = view.to_numpy()
"""


def test_a_typed_program_passes_mypy(mypy_config, tmp_path):
    (tmp_path / "program.py").write_text(TYPED)
    (tmp_path / "wrong.py").write_text("import ascend_cy\nascend_cy.Stream('high')\nascend_cy.zeros(3).nothing\n")
    cache = mypy_config.parent / "cache"
    ran = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(cache), "--config-file", "",
                          "program.py", "wrong.py"],
                         cwd=tmp_path, capture_output=True, text=True, timeout=280, env=child.environment())
    assert "program.py" not in ran.stdout, ran.stdout
    assert ran.stdout.count("wrong.py:2") == 1 and ran.stdout.count("wrong.py:3") == 1, ran.stdout


# ---- errors ----


def test_errors():
    assert issubclass(ascend_cy.AclError, RuntimeError)
    assert issubclass(ascend_cy.DeviceMemoryError, (ascend_cy.AclError,)) and issubclass(ascend_cy.DeviceMemoryError, MemoryError)
    assert issubclass(ascend_cy.DeviceNotFoundError, ascend_cy.AclError) and issubclass(ascend_cy.KernelError, ascend_cy.AclError)
    assert issubclass(ascend_cy.KernelNotFoundError, (ascend_cy.AclError,))
    assert issubclass(ascend_cy.KernelNotFoundError, NotImplementedError)
    assert issubclass(ascend_cy.AscendCyResourceWarning, ResourceWarning)
    for kind in (ascend_cy.AclError, ascend_cy.DeviceMemoryError, ascend_cy.DeviceNotFoundError, ascend_cy.KernelError,
                 ascend_cy.KernelNotFoundError):
        error = kind(107000, "ACL_ERROR_RT_PARAM_INVALID", "aclrtMalloc", "size is 0")
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            copy = pickle.loads(pickle.dumps(error, protocol))
            assert type(copy) is kind and str(copy) == str(error)
            assert (copy.code, copy.name, copy.function, copy.detail) == (107000, "ACL_ERROR_RT_PARAM_INVALID", "aclrtMalloc",
                                                                          "size is 0")
        for part in ("107000", "ACL_ERROR_RT_PARAM_INVALID", "aclrtMalloc", "size is 0"):
            assert part in str(error)
    assert "5" in str(ascend_cy.AclError(5))


# ---- installed files ----


def test_paths():
    assert Path(ascend_cy.get_include()).is_absolute() and Path(ascend_cy.get_include(), "ascend_cy", "acl.h").is_file()
    libraries = Path(ascend_cy.get_library_dir())
    assert libraries.is_absolute()
    assert (libraries / "libascend_cy.so").is_file() and (libraries / "libascendcl_cpu.so").is_file()


def test_files_for_other_compilers():
    for name in (*PUBLIC_PXD, "__init__.pyi", "py.typed"):
        assert (PACKAGE / name).is_file(), name
    headers = {path.name for path in (ROOT / "csrc/include/ascend_cy").glob("*.h")}
    installed = {path.name for path in (PACKAGE / "include/ascend_cy").glob("*.h")}
    assert headers <= installed
    # What an installed .pxd cimports must be installed too.
    for path in PACKAGE.glob("*.pxd"):
        for module in re.findall(r"(?m)^(?:from|cimport) ascend_cy\.(\w+)", path.read_text()):
            assert (PACKAGE / f"{module}.pxd").is_file(), f"{path.name} needs {module}.pxd"
        for name in re.findall(r"(?m)^from ascend_cy cimport (\w+)", path.read_text()):
            assert (PACKAGE / f"{name}.pxd").is_file() or name in (PACKAGE / "__init__.pxd").read_text(), f"{path.name}: {name}"


def test_public_pxd_files_need_no_header():
    """By the rule of the two kinds: `cimport ascend_cy` works without an include path."""
    for name in behind_the_package():
        text = (PACKAGE / f"{name}.pxd").read_text()
        externs = re.findall(r'(?m)^\s*cdef extern from "([^"]+)"', text)
        assert not externs, f"{name}.pxd includes {externs}"
        assert not re.search(r"(?m)^(cimport numpy|from numpy cimport)", text), f"{name}.pxd cimports numpy"
    assert not {"_acl", "_host"} & set(behind_the_package())


def test_kernels():
    kernels = PACKAGE / "kernels"
    assert list((kernels / "cpu").glob("layernorm*.so"))
    for operator in {path.name.split(".")[0] for path in (kernels / "cpu").glob("*.so")}:
        assert (ROOT / "kernels" / operator).is_dir(), f"{operator} has no source"
    if os.uname().machine == "x86_64":
        levels = {path.name.split(".")[1] for path in (kernels / "cpu").glob("layernorm.*.so")}
        assert {"x86-64-v1", "x86-64-v3"} <= levels


def test_nothing_is_installed_that_was_only_for_building():
    files = [str(file) for file in importlib.metadata.files("ascend-cy")]
    assert files
    unwanted = re.compile(r"\.(pyx|o|a|in)$|meson\.build$|\.egg|_host\.pxd$|(^|/)tests?/|conftest")
    assert not [file for file in files if unwanted.search(file)]
    roots = {file.split("/")[0] for file in files if not file.startswith("..")}
    assert {root for root in roots if not root.endswith(".dist-info")} == {"ascend_cy"}


def test_metadata():
    metadata = importlib.metadata.metadata("ascend-cy")
    assert "Apache-2.0" in metadata["License-Expression"].split(" AND ")
    requires = {re.match(r"[\w-]+", line)[0] for line in importlib.metadata.requires("ascend-cy") if "extra ==" not in line}
    assert {"numpy", "tqdm"} <= requires <= {"numpy", "tqdm", "scipy-openblas32"}
    scripts = importlib.metadata.entry_points(group="console_scripts", name="ascend-cy")
    assert [script.value for script in scripts] == ["ascend_cy.cli:main"]
    assert any(str(file).endswith("LICENSE") for file in importlib.metadata.files("ascend-cy"))


def elf(tool: str, *args: str) -> str:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    return subprocess.run([tool, *args], capture_output=True, text=True, check=True).stdout


BINARIES = sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.so"))


@pytest.mark.parametrize("name", BINARIES)
def test_libraries_are_found_by_relative_path_only(name):
    dynamic = elf("readelf", "-d", str(PACKAGE / name))
    for path in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
        assert all(part.startswith("$ORIGIN") for part in path.split(":")), path
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert "libascendcl.so" not in needed, "CANN would be needed at import"
    if name.startswith("kernels/") or name == "libascendcl_cpu.so":
        assert "libascend_cy.so" not in needed, "an arrow that points up"


@pytest.mark.parametrize("name", BINARIES)
def test_only_what_is_meant_is_exported(name):
    symbols = elf("nm", "-D", "--defined-only", str(PACKAGE / name)).split("\n")
    exported = {line.split()[-1].split("@")[0] for line in symbols if re.search(r" [TtDBRVW] ", line)}
    exported -= {"_init", "_fini", "__bss_start", "_edata", "_end"}
    if name.startswith("kernels/"):
        # The simulator's binaries hold Ascend C entries under their own names.
        wanted = r"ascend_kernel_table" + (r"|ascend_sim_\w+|[a-z]\w*_(fp16|bf16|fp32|int32)" if "/sim/" in name else "")
    elif name == "libascend_cy.so":
        wanted = r"ascend_cy_\w+"
    elif name == "libascendcl_cpu.so":
        wanted = r"acl\w+|ascendcl_cpu_\w+"
    else:
        wanted = r"PyInit_\w+"
    assert exported, name
    # Instances of standard templates are weak, the same in every library, and bound within each.
    strays = {symbol for symbol in exported if not re.fullmatch(wanted, symbol) and not symbol.startswith(("_ZNSt", "_ZSt", "_ZTI", "_ZTS", "_ZTV", "_ZNKSt", "_ZGV", "_ZN9__gnu"))}
    assert not strays, sorted(strays)[:20]


# ---- the binary interface ----


def surface() -> dict[str, list[str]]:
    """What consumers are compiled against: of each class its fields and methods in order, and the exported functions."""
    exported = set(re.findall(r"\w+", re.sub(r"#.*|from \S+ cimport", "", (PACKAGE / "__init__.pxd").read_text())))
    found: dict[str, list[str]] = {}
    for name in behind_the_package()[1:]:
        text = re.sub(r"#.*", "", (PACKAGE / f"{name}.pxd").read_text())
        text = re.sub(r"\([^()]*\)", lambda match: " ".join(match[0].split()), text)  # one line a declaration
        owner = ""
        for line in text.split("\n"):
            inside = line.startswith("    ")
            line = " ".join(line.split())
            heading = re.match(r"cdef (class|struct) (\w+)|cdef enum", line)
            if heading:
                owner = f"{heading[1]} {heading[2]}" if heading[1] else "constants"
            elif inside and line and owner:
                if owner != "constants" or line.split()[0] in exported:
                    found.setdefault(owner, []).append(line)
            elif line.startswith("cdef "):
                owner = ""
                function = re.match(r"cdef [^(]*?(\w+)\(", line)
                if function and function[1] in exported:
                    found.setdefault("functions", []).append(line)
    found["sizes"] = [f"{kind.__name__} {kind.__basicsize__}" for kind in (ascend_cy.DeviceArray, ascend_cy.Stream, ascend_cy.Event,
                                                                                 ascend_cy.MemoryPool)]
    return found


def test_the_binary_interface_only_grows():
    """Old consumers index fields and methods by position, and compare signatures of functions and sizes of classes at import.

    After an intended incompatible change: count ABI_VERSION up, and record the surface again (run this file as a script).
    """
    recorded: dict[str, list[str]] = {}
    owner = ""
    for line in SURFACE.read_text().splitlines():
        if line.startswith("["):
            owner = line[1:-1]
        elif line.strip() and not line.startswith("#"):
            recorded.setdefault(owner, []).append(line)
    now = surface()
    version = [line for line in now["constants"] if line.startswith("ABI_VERSION")]
    assert version, "ABI_VERSION is gone"
    if version != [line for line in recorded["constants"] if line.startswith("ABI_VERSION")]:
        pytest.fail("ABI_VERSION changed: record the surface again")
    for owner, lines in recorded.items():
        if owner.startswith("class "):
            (was_fields, was_methods), (fields, methods) = parts_of(lines), parts_of(now.get(owner, []))
            # Cython warns old consumers where the size of a class changes, and indexes fields by position.
            assert len(fields) == len(was_fields), f"{owner}: its size changed; new fields take the place of reserved ones"
            changed = [(was, field) for was, field in zip(was_fields, fields, strict=True) if was not in (field, RESERVED)]
            assert not changed, f"{owner}: fields moved or changed: {changed}"
            assert methods[: len(was_methods)] == was_methods, f"{owner}: methods may only be added at the end"
            # The first method would put a table's address before the fields.
            assert was_methods or not methods, f"{owner}: had no methods, and cannot get one"
        else:
            assert not set(lines) - set(now.get(owner, [])), f"{owner}: gone or changed"


RESERVED = "cdef void *reserved"


def parts_of(lines: list[str]) -> tuple[list[str], list[str]]:
    """Fields, with as many reserved ones as there are, and methods."""
    fields, methods = [], []
    for line in lines:
        spare = re.fullmatch(re.escape(RESERVED) + r"\[(\d+)\]", line)
        if spare:
            fields += [RESERVED] * int(spare[1])
        else:
            (methods if "(" in line else fields).append(line)
    return fields, methods


C_SURFACE = SURFACE.with_name("c_surface.txt")


def c_surface() -> dict[str, list[str]]:
    """What C programs are compiled against, AscendCL apart: functions, and structures with their fields in order."""
    found: dict[str, list[str]] = {}
    for path in sorted((PACKAGE / "include/ascend_cy").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", path.read_text(), flags=re.DOTALL)
        if path.name.startswith("acl"):
            continue  # AscendCL: tests/test_abi_headers.py
        functions = re.findall(r"ASCEND_CY_API\s+([^;{]+);", text)
        if functions:
            found[f"functions of {path.name}"] = [" ".join(declaration.split()) for declaration in functions]
        for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\}", text, flags=re.DOTALL):
            found[f"struct {name}"] = [" ".join(field.split()) for field in body.split(";") if field.strip()]
    return found


def test_the_c_interface_only_grows():
    """Functions keep their signatures, and structures their fields.

    After an intended incompatible change: count ASCEND_CY_ABI_VERSION up, and record the surface again (run this file).
    """
    recorded: dict[str, list[str]] = {}
    for line in C_SURFACE.read_text().splitlines():
        if line.startswith("["):
            owner = recorded.setdefault(line[1:-1], [])
        elif line.strip() and not line.startswith("#"):
            owner.append(line)
    now = c_surface()
    assert any(name.startswith("struct") for name in recorded) and any(name.startswith("functions") for name in recorded)
    for owner, lines in recorded.items():
        if owner.startswith("struct"):
            assert now.get(owner) == lines, f"{owner}: callers have its size and fields compiled in"
        else:
            assert not set(lines) - set(now.get(owner, [])), f"{owner}: gone or changed"


# ---- the order of the layers ----


def imports_of(path: Path) -> set[str]:
    """Modules of the package that a source imports or cimports while it is loaded; "" is the package itself."""
    found = set()
    text = re.sub(r'"""(?:[^"\\]|\\.|"(?!""))*"""', "", path.read_text())
    for line in re.findall(r"(?m)^(?:from|import|cimport) .*", re.sub(r"\(\n?([^)]*)\)", lambda m: m[1].replace("\n", " "), text)):
        match = re.match(r"from ascend_cy\.(\w+)(?:\.\w+)* (?:c?import)", line) or re.match(r"c?import ascend_cy\.(\w+)", line)
        if match:
            found.add(match[1])
            continue
        match = re.match(r"from ascend_cy c?import (.*)", line)
        if match:
            for name in match[1].split(","):
                name = name.split()[0]
                sibling = any((path.parent / f"{name}{suffix}").exists() for suffix in (".pyx", ".pxd", ".py"))
                found.add(name if sibling else "")
        elif re.match(r"c?import ascend_cy\b", line):
            found.add("")
    return found


def module_graph() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for path in sorted((ROOT / "ascend_cy").glob("*.p*")):
        if path.suffix in (".py", ".pyx", ".pxd"):
            name = path.stem if path.stem != "__init__" else ""
            graph.setdefault(name, set()).update(imports_of(path) - {name})
    return graph


def reach(graph: dict[str, set[str]], start: str) -> set[str]:
    seen, todo = set(), [start]
    while todo:
        for target in graph.get(todo.pop(), ()):
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return seen


GRAPH = module_graph()
OPERATORS = {name for name in GRAPH if name and (ROOT / "kernels" / name.lstrip("_")).is_dir()} | {"_ops"}


def test_imports_have_no_cycle():
    assert {"_acl", "_core", "_ops", ""} <= set(GRAPH)
    for name in GRAPH:
        assert name not in reach(GRAPH, name), f"{name or 'ascend_cy'} imports itself through {sorted(reach(GRAPH, name))}"


def test_imports_go_one_way():
    top = {name for name in GRAPH if name.startswith(("cli", "_cli"))} | {"sim", "bench", "torch", "service"}
    assert not GRAPH["_acl"], "_acl mirrors AscendCL and knows nothing else"
    assert not GRAPH["_host"], "_host mirrors our own C headers and knows nothing else"
    assert not reach(GRAPH, "_core") & (OPERATORS | top | {""}), "the runtime imports an operator or the package"
    assert not reach(GRAPH, "_ops") & (top | {""}), "an operator imports what is above it"
    assert not reach(GRAPH, "") & top, "import ascend_cy loads a tool"
    assert not reach(GRAPH, "errors"), "errors stand alone"


def test_commands_use_the_public_package_only():
    for name in GRAPH:
        if name.startswith(("cli", "_cli")):
            compiled = {target for target in GRAPH[name] if (ROOT / "ascend_cy" / f"{target}.pyx").exists()}
            assert not compiled, f"{name} imports {compiled}"


def includes(folder: str) -> list[tuple[Path, str]]:
    found = []
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in (".c", ".cpp", ".h", ".hpp", ".inc"):
            for name in re.findall(r'(?m)^\s*#\s*include\s*[<"]([^>"]+)[>"]', path.read_text()):
                found.append((path.relative_to(ROOT), name))
    return found


HOST_HEADERS = {"ascend_cy/runtime.h", "ascend_cy/pool.h", "ascend_cy/launch.h"}


def resolve(path: Path, name: str) -> str:
    """Where an include leads, relative to the checkout; the name itself where it is no file of ours."""
    for folder in (ROOT / path.parent, ROOT / "csrc/include", ROOT / "kernels", ROOT / "kernels/include", ROOT / "csrc/ascendc/include"):
        target = (folder / name).resolve()
        if target.is_file() and ROOT in target.parents:
            return target.relative_to(ROOT).as_posix()
    return name


@pytest.mark.parametrize("layer", ["csrc/host", "csrc/cpu_device", "csrc/ascendc", "csrc/include", "kernels"])
def test_c_layers(layer):
    found = includes(layer)
    assert found
    for path, name in found:
        where = resolve(path, name)
        arrow = f"{path} includes {name}"
        assert name not in ("Python.h", "pybind11/pybind11.h") and not name.startswith("numpy/"), arrow
        assert not where.startswith("ascend_cy/_"), arrow
        if layer == "csrc/include":
            assert where.startswith("csrc/include/") or "/" not in where or where.startswith("acl/"), arrow
            continue
        if layer != "csrc/host":
            assert not where.startswith("csrc/host/"), arrow
            assert name not in HOST_HEADERS, f"{arrow}: the host library is above"
        if layer != "csrc/cpu_device":
            assert not where.startswith("csrc/cpu_device/"), f"{arrow}: the device is reached through AscendCL only"
        if layer == "csrc/host":
            assert not where.startswith("csrc/ascendc/"), arrow
            assert not where.startswith("kernels/") or where.endswith("_tiling.h"), f"{arrow}: only plain data of kernels"
        if layer == "csrc/cpu_device":
            assert not where.startswith(("csrc/ascendc/", "kernels/")), f"{arrow}: the device knows no kernel"
        if layer == "csrc/ascendc":
            assert not where.startswith("kernels/"), arrow
            assert where.startswith("csrc/ascendc/") or where in ("csrc/include/ascend_cy/kernel_abi.h",) or not where.startswith("csrc/"), arrow
        if layer == "kernels":
            assert not where.startswith("csrc/include/") or where == "csrc/include/ascend_cy/kernel_abi.h", arrow


def test_tests_are_no_package():
    assert not list((ROOT / "tests").rglob("__init__.py"))
    assert not (ROOT / "conftest.py").exists()


def record_surface() -> None:
    lines = ["# Made by running tests/test_package.py as a script: the binary interface that consumers were compiled against."]
    for owner, declarations in surface().items():
        lines += [f"[{owner}]", *declarations, ""]
    SURFACE.write_text("\n".join(lines))
    lines = ["# Made by running tests/test_package.py as a script: what C programs were compiled against."]
    for owner, declarations in c_surface().items():
        lines += [f"[{owner}]", *declarations, ""]
    C_SURFACE.write_text("\n".join(lines))


if __name__ == "__main__":
    record_surface()
