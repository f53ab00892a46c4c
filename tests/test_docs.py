"""What README and docstrings show runs, and gives what they say."""

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import ascend_cy
import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SNIPPETS = [
    pytest.param(block, id=f"{page.name}-{number}")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for number, block in enumerate(BLOCK.findall(page.read_text()))
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippet(snippet, tmp_path):
    result = subprocess.run([sys.executable, "-W", "error", "-c", snippet], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0 and result.stderr == "", result.stderr


def test_there_are_snippets():
    assert len(SNIPPETS) >= 1


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
