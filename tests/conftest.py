# SPDX-License-Identifier: Apache-2.0
"""What every test is held to, and what many share."""

from __future__ import annotations

import gc
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).resolve().parent

# The same examples in every run, so that a red run is red again; HYPOTHESIS_PROFILE=long searches further.
settings.register_profile("suite", derandomize=True, deadline=None, database=None, max_examples=100,
                          suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
settings.register_profile("long", settings.get_profile("suite"), derandomize=False, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


def _live():
    """Live device objects; None while the package is not in use (tests of headers need no built package)."""
    package = sys.modules.get("ascend_cy")
    return package.live_objects() if hasattr(package, "live_objects") else None


_failed = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report


@pytest.fixture(autouse=True)
def nothing_left_behind(request):
    """No test leaves a stream, an event, device memory or pinned memory behind, nor a stream set as current."""
    before = _live()
    yield
    after = _live()
    if after is None or request.node.stash.get(_failed, False):  # the traceback of a failure keeps its objects
        return
    package = sys.modules["ascend_cy"]
    before = before or dict.fromkeys(after, 0)
    if after != before:
        gc.collect()
        package.synchronize()
        package.trim_memory()  # collects streams whose last user was an array
        after = _live()
    # Less than before is no leak: a failure before this test held on to its objects.
    left = {name: after[name] - before[name] for name in after if after[name] > before[name]}
    assert not left, "the test left objects on the device"
    if package.device_info()["device_count"]:
        assert package.current_stream() == package.default_stream(), "the test left a stream current"
        assert package.memory_stats()["limit"] is None, "the test left a memory limit"


@pytest.fixture
def stream():
    import ascend_cy

    made = ascend_cy.Stream()
    yield made
    made.close()


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """Kernels of the tests' own, on the embedded device."""
    import embedded

    embedded.require()
    loaded = embedded.Kernels(embedded.build_kernels(tmp_path_factory.mktemp("kernels")))
    yield loaded
    loaded.unload()


@pytest.fixture(scope="session")
def consumer(tmp_path_factory):
    """Modules of a downstream project that cimports the installed package: plain, plain_cpp, raw."""
    import embedded

    embedded.compiler("CC", "cc")
    folder = tmp_path_factory.mktemp("consumer")
    for source in (HERE / "consumer").iterdir():
        if source.is_file():
            shutil.copy(source, folder)
    built = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j2"], cwd=folder, text=True,
                           capture_output=True, timeout=280)
    assert built.returncode == 0, built.stdout + built.stderr
    sys.path.insert(0, str(folder))
    try:
        names = ("plain", "plain_cpp", "raw")
        return SimpleNamespace(folder=folder, **{name: importlib.import_module(name) for name in names})
    finally:
        sys.path.remove(str(folder))
