# SPDX-License-Identifier: Apache-2.0
"""The host library through its C interface alone: no Python above it, a fake or the embedded device below it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from toolbox import Toolbox

import ascend_cy

KIND = {"none": "0", "npu": "1", "cpu": "2", "sim": "3"}


@pytest.fixture(scope="session")
def toolbox(tmp_path_factory):
    return Toolbox(tmp_path_factory.mktemp("c_host"))


# ---- finding the device ----


def test_auto_without_a_vendor_library_is_the_embedded_device(toolbox):
    seen = toolbox.show("context", env=toolbox.environment(None))
    assert seen["kind"] == KIND["cpu"]
    assert seen["unified"] == "1"
    assert seen["requested"] == "auto"
    assert seen["library"] == os.path.join(toolbox.library_dir, "libascendcl_cpu.so")
    assert seen["package"] == toolbox.library_dir
    assert "no NPU" in seen["reason"]
    assert seen["error"] == "0"
    assert seen["count.code"] == "0" and int(seen["devices"]) >= 1
    assert seen["context"] == "107002"  # asking made none
    assert seen["ensure.code"] == "0" and seen["device"] == "0"
    for tried in ("libacl_rt.so (already loaded", "libascendcl.so (search path", "libascendcl_cpu.so (embedded device): taken"):
        assert tried in seen["tried"]


def test_auto_takes_a_vendor_library_with_devices(toolbox):
    for variable in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        env = toolbox.environment(None)
        env[variable] = str(toolbox.fake("full"))
        seen = toolbox.show("context", "soc", env=env)
        assert seen["kind"] == KIND["npu"]
        assert seen["unified"] == "0"
        assert seen["library"] == str(toolbox.fake("full") / "lib64" / "libascendcl.so")
        assert variable in seen["reason"]
        assert seen["context"] == "107002"
        assert seen["ensure.code"] == "0"
        assert seen["soc"] == "Ascend910B1"


def test_auto_finds_it_on_the_loaders_path(toolbox):
    env = toolbox.environment(None, LD_LIBRARY_PATH=str(toolbox.fake("full") / "lib64"))
    seen = toolbox.show(env=env)
    assert seen["kind"] == KIND["npu"]
    assert "search path of the dynamic loader" in seen["reason"]


def test_auto_takes_what_is_already_loaded(toolbox):
    """Another package of the process has chosen a library: two copies would be two worlds."""
    other = toolbox.fake("full") / "lib64" / "libascendcl.so"
    env = toolbox.environment(None, "8.1", LD_PRELOAD=str(other))
    seen = toolbox.show(env=env)
    assert seen["library"] == str(other)
    assert "already loaded" in seen["reason"]


def test_auto_passes_over_a_vendor_library_without_devices(toolbox):
    seen = toolbox.show(env=toolbox.environment(None, "full", FAKE_ACL_DEVICES="0"))
    assert seen["kind"] == KIND["cpu"]
    assert "it reports no device" in seen["tried"]
    seen = toolbox.show(env=toolbox.environment("auto", "stub"))
    assert seen["kind"] == KIND["cpu"]
    assert "link-time stub" in seen["tried"]


def test_sim(toolbox):
    seen = toolbox.show("context", env=toolbox.environment("sim"))
    assert seen["kind"] == KIND["sim"]
    assert seen["unified"] == "0"
    assert seen["reason"] == "ASCEND_CY_DEVICE=sim"
    assert seen["ensure.code"] == "0"


def test_npu_that_cannot_be_used_lists_what_was_tried(toolbox):
    env = toolbox.environment("npu", "full", FAKE_ACL_DEVICES="0")
    seen = toolbox.show("init", "context", "raw", "kernel", "has:aclrtMalloc", env=env)
    assert seen["kind"] == KIND["none"]
    assert seen["error"] == "207004"
    for key in ("init", "ensure", "raw.host", "kernel", "count"):
        assert seen[f"{key}.code"] == "207004", key
        message = seen[f"{key}.message"]
        assert "ASCEND_CY_DEVICE=npu" in message
        assert str(toolbox.fake("full")) in message and "it reports no device" in message
        assert "libacl_rt.so (search path of the dynamic loader)" in message
        assert "set_env.sh" in message
    assert seen["raw.code"] == "207004" and "ASCEND_CY_DEVICE=npu" in seen["raw.recent"]
    assert seen["has:aclrtMalloc"] == "0"
    # No embedded device in its place.
    assert "libascendcl_cpu" not in seen["tried"]


def test_a_bad_choice_names_the_allowed_ones(toolbox):
    seen = toolbox.show("init", "raw", env=toolbox.environment("gpu"))
    assert seen["error"] == "100000"
    assert seen["init.code"] == "100000"
    assert seen["init.message"] == 'ASCEND_CY_DEVICE is "gpu"; allowed are auto, npu, cpu and sim'
    assert seen["raw.code"] == "100000"


def test_a_broken_installation_says_so(toolbox, tmp_path):
    seen = toolbox.show("init", env=toolbox.environment("cpu", ASCEND_CY_PACKAGE_DIR=str(tmp_path)))
    assert seen["error"] == "100003"
    assert str(tmp_path / "libascendcl_cpu.so") in seen["init.message"]


def test_somebody_else_initialised_the_library(toolbox):
    """torch_npu was first: "already initialised" is success, and finalizing stays theirs."""
    env = toolbox.environment("npu", "full", FAKE_ACL_INIT="100002", FAKE_ACL_VERBOSE="1")
    seen = toolbox.show("context", env=env)
    assert seen["ensure.code"] == "0"
    result = toolbox.run("test_lifetime", "exit_after_shutdown", env=env)
    assert result.returncode == 0 and "aclFinalize" not in result.stdout
    env["FAKE_ACL_INIT"] = "0"
    result = toolbox.run("test_lifetime", "exit_after_shutdown", env=env)
    assert result.returncode == 0 and result.stdout.count("aclFinalize") == 1


def test_initialisation_that_fails(toolbox):
    env = toolbox.environment("npu", "full", FAKE_ACL_INIT="500000")
    seen = toolbox.show("init", "context", env=env)
    for key in ("init", "ensure"):
        assert seen[f"{key}.code"] == "500000"
        assert seen[f"{key}.function"] == "aclInit"
    assert "FAKE_ACL_INIT" in seen["init.message"]


# ---- what a library lacks ----


def test_functions_that_a_version_lacks(toolbox):
    names = ("has:aclrtLaunchHostFunc", "has:aclrtMalloc", "has:aclprofInit", "has:nonsense")
    seen = toolbox.show(*names, "absent", env=toolbox.environment("npu", "8.1"))
    assert [seen[name] for name in names] == ["0", "1", "0", "0"]
    assert seen["absent.result"] == "207000"
    for key in ("absent.message", "absent.recent"):
        assert "aclrtLaunchHostFunc" in seen[key] and "8.5.0" in seen[key]
    assert seen["absent.function"] == "aclrtLaunchHostFunc"
    assert seen["absent.again"] == "NULL"  # handed out once
    assert "9.2.0" in seen["absent.later_message"]
    assert seen["absent.pointer"] == "NULL"
    assert seen["absent.u32"] == "ones"
    assert seen["absent.record.code"] == "207000"
    assert "aclrtLaunchHostFunc" in seen["absent.record.message"]
    full = toolbox.show(*names, env=toolbox.environment("npu", "full"))
    assert full["has:aclrtLaunchHostFunc"] == "1"


def test_error_names(toolbox):
    seen = toolbox.show("names", env=toolbox.environment("cpu"))
    assert seen["name.0"] == "ACL_SUCCESS"
    assert seen["name.100000"] == "ACL_ERROR_INVALID_PARAM"
    assert seen["name.107002"] == "ACL_ERROR_RT_CONTEXT_NULL"
    assert seen["name.207001"] == "ACL_ERROR_RT_MEMORY_ALLOCATION"
    assert seen["name.507015"] == "ACL_ERROR_RT_AICORE_EXCEPTION"
    assert seen["name.507916"] == "ACL_ERROR_RT_CCU_EXCEPTION"
    assert seen["name.123"] == "NULL"


# ---- kernel binaries ----


@pytest.mark.parametrize(("soc", "family"), [
    ("Ascend910B1", "ascend910b"), ("Ascend910B2C", "ascend910b"), ("Ascend910B4-1", "ascend910b"),
    ("Ascend910_9391", "ascend910_93"), ("Ascend310P3", "ascend310p"), ("Ascend310B4", "ascend310b"),
    ("Ascend950PR_9599", "ascend950"), ("Ascend950DT_95A", "ascend950"), ("Ascend910A", "ascend910"),
    ("Ascend910B", "ascend910"), ("Ascend910ProA", "ascend910"), ("Ascend9999X", "ascend9999x"),
])
def test_a_missing_kernel_lists_the_places(toolbox, tmp_path, soc, family):
    env = toolbox.environment("npu", "full", FAKE_ACL_SOC=soc, ASCEND_CY_CACHE_DIR=str(tmp_path))
    seen = toolbox.show("kernel", env=env)
    assert seen["kernel.code"] == "100029"
    assert "layernorm" in seen["kernel.message"]
    for folder in (toolbox.library_dir, str(tmp_path)):
        assert f"{folder}/kernels/{family}/layernorm.o" in seen["kernel.message"]


def test_kernel_levels(toolbox):
    seen = toolbox.show("kernel", env=toolbox.environment("cpu"))
    assert seen["kernel.code"] == "0", seen["kernel.message"]
    lowest = "aarch64" if os.uname().machine == "aarch64" else "x86-64-v1"
    seen = toolbox.show("kernel", env=toolbox.environment("cpu", ASCEND_CY_KERNEL_LEVEL=lowest))
    assert seen["kernel.code"] == "0", seen["kernel.message"]
    seen = toolbox.show("kernel", env=toolbox.environment("cpu", ASCEND_CY_KERNEL_LEVEL="v9"))
    assert seen["kernel.code"] == "100000"
    assert "ASCEND_CY_KERNEL_LEVEL" in seen["kernel.message"] and lowest in seen["kernel.message"]


def test_a_lower_level_stands_in_for_a_missing_file(toolbox, tmp_path):
    lowest = "aarch64" if os.uname().machine == "aarch64" else "x86-64-v1"
    package = Path(toolbox.library_dir)
    (tmp_path / "kernels" / "cpu").mkdir(parents=True)
    for name in ("libascendcl_cpu.so", "device_sim.json"):
        shutil.copy(package / name, tmp_path)
    env = toolbox.environment("cpu", ASCEND_CY_PACKAGE_DIR=str(tmp_path))
    assert toolbox.show("kernel", env=env)["kernel.code"] == "100029"
    file = f"layernorm.{lowest}.so"
    shutil.copy(package / "kernels" / "cpu" / file, tmp_path / "kernels" / "cpu")
    seen = toolbox.show("kernel", env=env)
    assert seen["kernel.code"] == "0", seen["kernel.message"]


# ---- everything else is in C++ ----


@pytest.mark.parametrize("fake", ["full", "8.1"])
def test_streams_and_events(toolbox, fake):
    toolbox.run_each("test_streams", toolbox.environment("npu", fake, FAKE_ACL_DEVICES="2"))


@pytest.mark.parametrize("fake", ["full", "8.1"])
def test_layernorm_launcher(toolbox, fake):
    toolbox.run_each("test_launch", toolbox.environment("npu", fake))


@pytest.mark.parametrize("fake", ["full", "8.1"])
def test_layernorm_backward_launcher(toolbox, fake):
    toolbox.run_each("test_launch_backward", toolbox.environment("npu", fake))


@pytest.mark.parametrize("fake", ["full", "8.1"])
def test_modules(toolbox, fake):
    toolbox.run_each("test_module", toolbox.environment("npu", fake, FAKE_ACL_DEVICES="2"))


def test_pool(toolbox):
    toolbox.run_each("test_pool", toolbox.environment("npu", "full"))


def test_frees_that_the_device_refuses(toolbox):
    toolbox.run_each("test_refused_frees", toolbox.environment("npu", "full"))


def test_pool_limit_from_the_environment(toolbox):
    for text, bytes_ in (("1M", 1 << 20), ("3000000", 3000000), ("2GiB", 2 << 30), ("0", 0)):
        result = toolbox.run("test_environment", str(bytes_), env=toolbox.environment("cpu", ASCEND_CY_POOL_LIMIT=text))
        assert result.returncode == 0, (text, result.stderr)
    for text in ("much", "-1", "1X", "99999999999999999999", "1 M"):
        result = toolbox.run("test_environment", "refused", env=toolbox.environment("cpu", ASCEND_CY_POOL_LIMIT=text))
        assert result.returncode == 0, (text, result.stderr)
        assert "ASCEND_CY_POOL_LIMIT" in result.stdout and text in result.stdout


@pytest.mark.parametrize("device", ["cpu", "fake", "fake 8.1"])
def test_fork_shutdown_exit(toolbox, device):
    env = toolbox.environment("npu", device.split()[-1].replace("fake", "full")) if "fake" in device else \
        toolbox.environment(device)
    toolbox.run_each("test_lifetime", env)


@pytest.mark.parametrize("device", ["cpu", "sim", "fake"])
def test_threads(toolbox, device):
    env = toolbox.environment("npu", "full") if device == "fake" else toolbox.environment(device)
    toolbox.run_each("test_threads", env | {"ROUNDS": "200" if device == "sim" else "1000"})


def test_beside_ascendcls_own_pools(toolbox):
    trace = Path(__file__).resolve().parent / "traces" / "training.txt"
    result = toolbox.run("vendor_pool", str(trace), env=toolbox.environment("cpu"))
    assert result.returncode == 0, result.stderr
    print(result.stdout)
    *costs, unused = [[float(figure) for figure in line.split("; ")[1:]] for line in result.stdout.splitlines()]
    assert len(costs) == 3
    for ours, theirs in [*costs, unused]:
        assert ours < theirs, "AscendCL's own pools are better here: use them"


def test_memory_is_not_reused_under_a_running_kernel(toolbox):
    toolbox.run_each("test_reuse", toolbox.environment("cpu", ROUNDS="60"))


def test_sim_sees_true_bounds(toolbox):
    toolbox.run_each("test_sim", toolbox.environment("sim"))


def test_the_library_exports_its_interface_only(toolbox):
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("no nm")
    library = os.path.join(toolbox.library_dir, "libascend_cy.so")
    listed = subprocess.run([nm, "-D", "--defined-only", library], text=True, capture_output=True, check=True).stdout
    names = [line.split()[-1] for line in listed.splitlines()]
    assert names
    assert [name for name in names if not name.startswith("ascend_cy_")] == []
