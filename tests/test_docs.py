"""What README and docstrings show runs, and gives what they say."""

import doctest
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import ascend_cy
import downstream
import embedded
import numpy as np
import pytest
from ascend_cy.cli import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
# Those that a page names as files are run by the test of that page's steps.
BLOCK = re.compile(r"^([^\n]*)\n```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^<!-- (file: (\S+)|run) -->\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def snippets():
    """Of each page; those that need the snippet above are run after it, in the same folder."""
    for page in PAGES:
        found: list[list[str]] = []
        for before, block in BLOCK.findall(page.read_text()):
            if before == "<!-- after: the snippet above -->":
                found.append([*found[-1], block])
            elif not before.startswith("<!--"):
                found.append([block])
        for number, blocks in enumerate(found):
            yield pytest.param(blocks, id=f"{page.name}-{number}")


SNIPPETS = list(snippets())


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet(snippet, tmp_path):
    if "compile(" in "".join(snippet) or "subprocess" in "".join(snippet):
        embedded.compiler("CXX", "c++")
    for block in snippet:
        result = subprocess.run([sys.executable, "-W", "error", "-c", block], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert result.returncode == 0 and result.stderr == "", result.stderr


def test_shell_snippets_of_the_simulator(tmp_path):
    """What the page shows for a terminal: a report, and the generator of entry tables."""
    downstream.needs()
    report, generator = re.findall(r"^```sh\n(.*?)^```", (ROOT / "docs/simulator.md").read_text(), re.MULTILINE | re.DOTALL)
    env = downstream.environment(tmp_path)
    out = downstream.command(["sh", "-e", "-c", report], tmp_path, env).split()
    # Every element of 480 rows of 1024 is read and written at least once.
    assert out[0] == "layernorm_fp32" and all(int(count) >= 480 * 1024 * 4 for count in out[2:4]), out
    (tmp_path / "my_kernel.cpp").write_text('#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void mine(GM_ADDR x) {}\n')
    downstream.command(["sh", "-e", "-c", generator], tmp_path, env)
    assert '"mine"' in (tmp_path / "my_kernel_entries.cpp").read_text()


@pytest.fixture(scope="module")
def cython_snippets(tmp_path_factory):
    """The Cython of README and docs, built as a user would; functions by name."""
    embedded.compiler("CC", "cc")
    folder = tmp_path_factory.mktemp("snippets")
    names = []
    for page in PAGES:
        for number, block in enumerate(re.findall(r"^```cython\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)):
            names.append(f"{page.stem.lower()}_{number}")
            (folder / f"{names[-1]}.pyx").write_text(block)
    (folder / "setup.py").write_text(
        "import ascend_cy\nfrom Cython.Build import cythonize\nfrom setuptools import Extension, setup\n"
        "setup(name='snippets', packages=[], ext_modules=cythonize([Extension(name, [name + '.pyx'],"
        " include_dirs=[ascend_cy.get_include()], extra_compile_args=['-O0'])"
        f" for name in {names}], language_level=3, nthreads=2))\n")
    built = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j2"], cwd=folder, text=True,
                           capture_output=True, timeout=280)
    assert built.returncode == 0, built.stdout + built.stderr
    functions = {}
    for name in names:
        (file,) = folder.glob(name + ".*.so")
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        functions |= {key: value for key, value in vars(module).items() if callable(value) and not isinstance(value, type)}
    return functions


def test_cython_snippets(cython_snippets):
    x = np.random.default_rng(0).normal(3, 2, (5, 33)).astype("f4")
    gamma, beta = np.linspace(1, 2, 33).astype("f4"), np.ones(33, "f4")
    for name in ("normalize", "on_the_host"):
        out = np.zeros_like(x)
        cython_snippets[name](x, gamma, beta, out)
        np.testing.assert_array_equal(out, ascend_cy.layernorm(x, gamma, beta))
    target = ascend_cy.zeros(x.shape)
    with ascend_cy.Stream() as stream:
        cython_snippets["on_the_device"](ascend_cy.asarray(x), target, stream)
    np.testing.assert_array_equal(target.to_numpy(), ascend_cy.layernorm(x))
    free = cython_snippets["free_bytes"]()
    assert 0 < free <= ascend_cy.Device(0).memory()[1]


def test_there_are_snippets():
    assert sum(snippet.id.startswith("README") for snippet in SNIPPETS) >= 7


def test_the_cimport_tutorial_works_as_written(tmp_path):
    """Its files are written, and its commands are run in their order."""
    downstream.needs("Cython", "setuptools")
    ran = 0
    env = downstream.environment(tmp_path)
    for kind, name, text in STEP.findall((ROOT / "docs/cimport.md").read_text()):
        if name:
            (tmp_path / name).write_text(text)
        else:
            downstream.command(["sh", "-e", "-c", text], tmp_path, env)
            ran += 1
    assert ran == 3


def test_commands_that_the_pages_show_exist():
    known = {command.name for command in COMMANDS}
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        shown = set(re.findall(r"(?:^|`|&& )ascend-cy ([a-z][a-z-]*)", page.read_text(), re.MULTILINE))
        assert shown <= known, f"{page.name} shows {shown - known}"


def test_the_pages_build_without_a_warning(tmp_path):
    for module in ("sphinx", "myst_parser"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    site = tmp_path / "site"
    done = subprocess.run([sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", str(tmp_path / "work"),
                           str(ROOT / "docs"), str(site)], cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"index", "api"}
    assert {path.stem for path in site.glob("*.html")} >= pages
    reference = (site / "api.html").read_text()
    for name in ascend_cy.__all__:
        assert name == "__version__" or f'id="ascend_cy.{name}"' in reference, f"{name} is not in the reference"


def examples():
    for name in ascend_cy.__all__:
        thing = getattr(ascend_cy, name)
        targets = [(name, thing)]
        if inspect.isclass(thing):
            targets += [(f"{name}.{key}", member) for key, member in vars(thing).items() if not key.startswith("_")]
        for label, target in targets:
            text = getattr(target, "__doc__", None)
            if isinstance(text, str) and ">>>" in text:
                yield pytest.param(doctest.DocTestParser().get_doctest(text, {}, label, None, 0), id=label)


@pytest.mark.parametrize("example", list(examples()))
def test_docstring_example(example, capsys):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example)
    assert runner.summarize(verbose=False).failed == 0, capsys.readouterr().out


def test_readme_commands_are_marked():
    text = (ROOT / "README.md").read_text()
    assert re.search(r"<!-- command: demo -->\n```sh\n.*ascend-cy demo\n```", text)
    assert re.search(r"<!-- command: test -->\n```sh\n.*pytest\n```", text)
