# SPDX-License-Identifier: Apache-2.0
"""What every test is held to, and what many share."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
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


def _hazards():
    """What hazard mode has found (ASCEND_CY_POOL_HAZARD=1); nothing without it."""
    package = sys.modules.get("ascend_cy")
    return package.memory_hazards() if hasattr(package, "memory_hazards") else []


def pytest_sessionfinish(session):
    """Nor may hazard mode have found anything between tests and after them."""
    if _hazards() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter):
    """Says in hazard mode what was found, so that a run that found nothing is told from one that did not look."""
    package = sys.modules.get("ascend_cy")
    if not hasattr(package, "memory_hazards") or os.environ.get("ASCEND_CY_POOL_HAZARD", "0") == "0":
        return
    if ctypes.CDLL(os.path.join(package.get_library_dir(), "libascend_cy.so")).ascend_cy_pool_hazard_mode():
        terminalreporter.section("hazard mode")
        terminalreporter.line("\n".join(_hazards()) or "nothing was found")


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
    hazards = _hazards()
    yield
    after = _live()
    assert _hazards()[len(hazards):] == [], "found by hazard mode"
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


@pytest.fixture(scope="module")
def quick_collections():
    """What other tests and libraries hold is left out of collections, of which some tests need hundreds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_run(tmp_path_factory):
    """What tests compile, those of other processes too, goes to a folder of the run and not to the user's cache."""
    folder = os.environ.get("ASCEND_CY_TEST_RUN_CACHE") or tmp_path_factory.mktemp("ascend_cy-cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_CY_CACHE_DIR", str(folder))
        yield


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


def build_consumer(folder, cython=None):
    """Modules of a downstream project that cimports the installed package, built with the Cython in folder `cython`."""
    import embedded

    embedded.compiler("CC", "cc")
    for source in (HERE / "consumer").iterdir():
        if source.is_file():
            shutil.copy(source, folder)
    path = os.pathsep.join(filter(None, [cython and str(cython), os.environ.get("PYTHONPATH")]))
    built = subprocess.run([sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j2"], cwd=folder, text=True,
                           capture_output=True, timeout=280, env={**os.environ, "PYTHONPATH": path})
    assert built.returncode == 0, built.stdout + built.stderr
    return load_consumer(folder)


def load_consumer(folder):
    modules = {}
    for name in ("plain", "plain_cpp", "operators", "raw"):
        (file,) = folder.glob(name + ".*" + sysconfig.get_config_var("EXT_SUFFIX").rpartition(".")[2])
        spec = importlib.util.spec_from_file_location(name, file)
        modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[name])
    return SimpleNamespace(folder=folder, **modules)


@pytest.fixture(scope="session")
def consumer(tmp_path_factory):
    """A downstream project: plain, plain_cpp, operators, raw."""
    if built := os.environ.get("ASCEND_CY_TEST_CONSUMER"):
        return load_consumer(Path(built))
    return build_consumer(tmp_path_factory.mktemp("consumer"))


OLDEST_CYTHON = "3.0.12"


@pytest.fixture(scope="session")
def old_consumer(tmp_path_factory):
    """The same, built with the oldest Cython that knows all Pythons we run on; skipped where it is not to be had."""
    cython = tmp_path_factory.mktemp("cython")
    got = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
                          "--only-binary=:all:", "--target", cython, f"Cython=={OLDEST_CYTHON}"], text=True,
                         capture_output=True, timeout=280)
    if got.returncode != 0:
        pytest.skip(f"Cython {OLDEST_CYTHON} is not to be had here: {(got.stderr.strip() or 'pip failed').splitlines()[-1]}")
    built = build_consumer(tmp_path_factory.mktemp("old_consumer"), cython)
    assert f"Generated by Cython {OLDEST_CYTHON}" in (built.folder / "plain.c").read_text()[:200]
    return built
