# SPDX-License-Identifier: Apache-2.0
"""``ascend-cy new-kernel`` and ``ascend-cy cache``."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys

import embedded
import pytest
from cli_program import good, refused


@pytest.fixture
def own_cache(tmp_path):
    return {"ASCEND_CY_CACHE_DIR": str(tmp_path / "cache")}


@pytest.mark.parametrize("device", ["cpu", "sim"])
def test_a_new_kernel_works_as_it_is(tmp_path, own_cache, device):
    embedded.compiler()
    out = good("new-kernel", "my_kernel", cwd=tmp_path)
    files = ["README.md", "my_kernel.cpp", "my_kernel.py", "my_kernel_tiling.h", "test_my_kernel.py"]
    assert sorted(os.listdir(tmp_path / "my_kernel")) == files
    assert out.splitlines()[:5] == [f"my_kernel/{name}" for name in files]
    text = "".join((tmp_path / "my_kernel" / name).read_text() for name in files)
    assert "scale_add" not in text and "ScaleAdd" not in text and "MyKernel" in text
    environment = {**os.environ, **own_cache, "ASCEND_CY_DEVICE": device}
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tmp_path / "my_kernel", text=True,
                          capture_output=True, timeout=280, env=environment)
    assert done.returncode == 0 and "7 passed" in done.stdout, done.stdout + done.stderr

    listed = good("cache", cwd=tmp_path, env=own_cache)
    assert "my_kernel.cpp" in listed and "the simulator's runtime" in listed and "2 files" in listed
    folder = tmp_path / "cache" / "modules"
    assert good("cache", "--dir", cwd=tmp_path, env=own_cache).strip() == str(folder)
    for path in folder.rglob("*"):
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path
    assert re.match("2 compiled kernel files removed", good("cache", "--clear", cwd=tmp_path, env=own_cache))
    assert not list(folder.rglob("*"))
    assert good("cache", cwd=tmp_path, env=own_cache).startswith("0 files")


@pytest.mark.parametrize("name", ["", "Bad", "1st", "a-b", "a/b", "../up", "a b"])
def test_names_that_cannot_be(tmp_path, name):
    assert "NAME must be lower case letters" in refused("new-kernel", name, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["class", "lambda", "numpy", "pytest", "json", "ascend_cy"])
def test_names_that_python_has_already(tmp_path, name):
    assert "NAME must not be a word of Python" in refused("new-kernel", name, cwd=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["add", "exp", "kernel", "int"])
def test_names_that_c_or_ascend_c_have_already(tmp_path, own_cache, name):
    embedded.compiler()
    good("new-kernel", name, cwd=tmp_path)
    done = subprocess.run([sys.executable, "-c", f"import {name}; {name}._kernel()"], cwd=tmp_path / name, text=True,
                          capture_output=True, timeout=280, env={**os.environ, **own_cache})
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "mine").mkdir()
    assert "is there already" in refused("new-kernel", "mine", cwd=tmp_path)
    assert not list((tmp_path / "mine").iterdir())
    assert "cannot write" in refused("new-kernel", "mine", "--dir", str(tmp_path / "nowhere"), cwd=tmp_path)


def test_a_cache_that_others_may_write_to_is_refused(tmp_path):
    import ascend_cy

    embedded.compiler()
    folder = tmp_path / "modules"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_CY_CACHE_DIR", str(tmp_path))
        with pytest.raises(PermissionError, match="is not private"):
            ascend_cy.compile("int x;\n", target="cpu")
