# SPDX-License-Identifier: Apache-2.0
"""``ascend-cy doctor``: its facts, its advice for the machines that users have, and that it makes no device context."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path

import child
import embedded
import pytest
from cli_program import good, program, run

import ascend_cy
from ascend_cy import _cli_doctor, _cli_doctor_facts


@pytest.fixture
def own_cache(tmp_path):
    return {"ASCEND_CY_CACHE_DIR": str(tmp_path / "cache")}


# ---- what it tells ----


def test_facts(tmp_path, own_cache):
    facts = json.loads(good("doctor", "--json", "--device", "cpu", cwd=tmp_path, env={**own_cache, "CXX": "c++ -O1"}))
    assert facts["package"]["version"] == ascend_cy.__version__ and facts["package"]["missing_files"] == []
    assert facts["environment"]["ASCEND_CY_CACHE_DIR"] == str(tmp_path / "cache")
    assert facts["device"]["kind"] == "cpu" and facts["device"]["device_count"] == 1
    assert Path(facts["device"]["library"]).name == "libascendcl_cpu.so" and facts["device"]["tried"]
    assert any(name.startswith("layernorm") for name in facts["kernels"]["package"]["cpu"])
    assert facts["cache"] == {"folder": str(tmp_path / "cache" / "modules"), "exists": False, "problem": None, "entries": 0, "bytes": 0}
    assert not (tmp_path / "cache").exists(), "a question made the cache"
    assert facts["compilers"]["CXX"]["command"] == "c++ -O1"
    assert facts["smoke"] is None and isinstance(facts["advice"], list)


def test_people_read_the_same(tmp_path, own_cache):
    text = good("doctor", "--device", "cpu", cwd=tmp_path, env=own_cache)
    for name in ("package", "environment", "CANN", "driver", "device", "library", "missing", "tried", "CXX", "kernels", "cache"):
        assert any(line.startswith(name) for line in text.splitlines()), name
    assert "ASCEND_CY_CACHE_DIR=" in text and "smoke run" not in text


@pytest.mark.parametrize("kind", ["cpu", "sim"])
def test_smoke_run(tmp_path, own_cache, kind):
    facts = json.loads(good("doctor", "--json", "--smoke", "--device", kind, cwd=tmp_path, env=own_cache))
    assert facts["smoke"]["problem"] is None and 0 < facts["smoke"]["error"] <= 1e-6
    assert facts["smoke"]["soc"] == "Ascend910B1"


def test_no_context_unless_asked(tmp_path, own_cache):
    """Nothing is initialised, and the process has no current context afterwards."""
    embedded.require()
    code = """
    import contextlib, ctypes, io
    import ascend_cy
    from ascend_cy.cli import main
    for words, begun in ((["doctor"], False), (["doctor", "--json"], False), (["doctor", "--smoke"], True)):
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(words) == 0
        assert ascend_cy.is_initialized() is begun, words
        context = ctypes.c_void_p()
        found = ctypes.CDLL(ascend_cy.device_info()["library"]).aclrtGetCurrentContext(ctypes.byref(context))
        assert (found == 0) is begun, (words, found)
    """
    child.check(code, tmp_path, env={**own_cache, "ASCEND_CY_DEVICE": "cpu"})


def test_missing_functions_are_those_of_the_list():
    embedded.require()
    listed = _cli_doctor_facts.listed_functions()
    names = [name for every in listed.values() for name in every]
    assert len(names) == len(set(names)) and {"aclInit", "aclrtMalloc", "aclrtLaunchHostFunc"} <= set(names)
    library = ctypes.CDLL(str(Path(ascend_cy.get_library_dir(), "libascend_cy.so")))
    library.ascend_cy_acl_get_table.restype = ctypes.POINTER(ctypes.c_uint32)
    assert library.ascend_cy_acl_get_table()[0] == 8 + 8 * len(names), "the table has other functions than the header lists"
    missing = [name for every in _cli_doctor_facts.device()["missing_functions"].values() for name in every]
    assert missing == [name for every in listed.values() for name in every if not ascend_cy.has(name)]


# ---- exit codes ----


@pytest.mark.parametrize(
    ("env", "words", "message"),
    [
        ({}, ["--device", "npu"], "error: no NPU can be used"),
        ({"ASCEND_CY_DEVICE": "gpu"}, [], 'error: ASCEND_CY_DEVICE is "gpu"'),
        ({"ASCENDCL_CPU_DEVICES": "0"}, ["--device", "cpu"], "reports no device"),
        ({}, ["--device", "cpu:1"], "error: there is no device 1"),
    ],
)
def test_what_cannot_work_is_exit_code_1(tmp_path, own_cache, env, words, message):
    done = run("doctor", *words, cwd=tmp_path, env={**own_cache, **env})
    assert (done.returncode, done.stderr) == (1, "") and message in done.stdout, done


def test_a_smoke_run_that_fails(tmp_path, own_cache):
    embedded.require()
    code = """
    import embedded
    from ascend_cy.cli import main
    with embedded.faults("kernel=*,times=always"):
        print("code", main(["doctor", "--smoke"]))
    """
    out = child.check(code, tmp_path, env={**own_cache, "ASCEND_CY_DEVICE": "cpu"}, warnings="ignore")
    assert out.splitlines()[-1] == "code 1" and "error: the smoke run failed on device 0" in out and "507015" in out


def test_what_is_only_in_the_way_is_a_warning(tmp_path):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules").chmod(0o777)
    text = good("doctor", "--device", "cpu", cwd=tmp_path, env={"ASCEND_CY_CACHE_DIR": str(tmp_path), "CXX": "/nowhere/c++"})
    assert "warning: no C++ compiler: /nowhere/c++ is not there" in text
    assert "warning: kernels compiled here cannot be kept" in text and "is not private" in text


def test_without_a_home(tmp_path):
    """A cache that cannot be anywhere is told, not raised."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("ASCEND", "XDG", "HOME"))}
    import subprocess

    done = subprocess.run([program(), "doctor", "--json", "--device", "cpu"], cwd=tmp_path, env={**env, "HOME": ""}, text=True,
                          capture_output=True, timeout=120)
    assert done.returncode == 0, done
    assert "folder" in json.loads(done.stdout)["cache"]


# ---- advice for machines that are not at hand ----


def machine(**parts):
    """The facts of a machine where all is well with the embedded device, with some of them changed."""
    facts = {
        "package": {"missing_files": []},
        "environment": {},
        "cann": [],
        "driver": {"folder": None, "version": None, "npu_smi": None, "device_files": [], "not_accessible": []},
        "device": {"kind": "cpu", "requested": "auto", "library": "/x/libascendcl_cpu.so", "reason": "", "tried": [],
                   "device_count": 1, "number": 0, "missing_functions": {}},
        "compilers": {"CXX": {"command": "c++", "path": "/usr/bin/c++", "version": "13"}},
        "kernels": {"package": {"cpu": ["layernorm.so"], "sim": ["layernorm.so"]}, "cache": {}},
        "cache": {"problem": None},
        "smoke": None,
    }
    for name, changes in parts.items():
        facts[name] = {**facts[name], **changes} if isinstance(facts[name], dict) else changes
    return list(_cli_doctor.advice(facts))


CANN = [{"folder": "/usr/local/Ascend/cann", "version": "8.5.0", "library": "/usr/local/Ascend/cann/lib64/libascendcl.so",
         "compiler": None}]
CARD = {"device_files": ["/dev/davinci0", "/dev/davinci_manager"], "folder": "/usr/local/Ascend/driver"}


def test_a_machine_in_order():
    assert machine() == []


@pytest.mark.parametrize(
    ("parts", "problem", "what_to_do"),
    [
        ({"cann": CANN, "driver": CARD}, "its environment is not set", "source /usr/local/Ascend/cann/set_env.sh"),
        ({"driver": CARD}, "NPUs (/dev/davinci0), but no CANN", "Install CANN"),
        ({"driver": {**CARD, "not_accessible": ["/dev/davinci0"]}}, "may not open /dev/davinci0", "HwHiAiUser"),
        ({"device": {"tried": ["libascendcl.so (x): it is the link-time stub from CANN's devlib folder"]}}, "link-time stub", "devlib"),
        ({"device": {"tried": ["libascendcl.so (x): version `GLIBCXX_3.4.30' not found"]}}, "newer libstdc++", "libstdcxx-ng"),
        ({"cann": CANN, "environment": {"ASCEND_HOME_PATH": "/usr/local/Ascend/cann"},
          "device": {"tried": ["libascendcl.so (x): libascend_hal.so: cannot open shared object file"]}}, "no driver",
         "Install the driver"),
        ({"device": {"tried": ["libascendcl.so (x): it reports no device"]}, "environment": {"ASCEND_RT_VISIBLE_DEVICES": "7"}},
         "finds no device; ASCEND_RT_VISIBLE_DEVICES is '7'", "npu-smi"),
        ({"device": {"kind": "npu"}}, "no kernels for NPUs", "ascend-cy build-kernels"),
        ({"device": {"kind": "npu", "missing_functions": {"8.1.RC1": ["aclrtMalloc"]}},
          "kernels": {"package": {"ascend910b": ["layernorm.o"]}}}, "lacks functions of CANN 8.1.RC1: aclrtMalloc", "8.1.RC1 or later"),
        ({"package": {"missing_files": ["libascendcl_cpu.so"]}}, "missing: libascendcl_cpu.so", "pip install --force-reinstall"),
    ],
)
def test_advice(parts, problem, what_to_do):
    found = machine(**parts)
    assert any(problem in item[1] and what_to_do in item[2] for item in found), found
    assert {item[0] for item in found} <= {"error", "warning"}
    asked = machine(**{**parts, "device": {**parts.get("device", {}), "requested": "npu"}})
    npu_only = [item for item in asked if problem in item[1]]
    assert npu_only and (npu_only[0][0] == "error" or "lacks functions" in problem), "an NPU was asked for"


def test_nobody_who_asked_for_cpu_hears_of_npus():
    assert machine(cann=CANN, driver=CARD, device={"requested": "cpu"}) == []


def test_traces_of_the_driver(tmp_path):
    assert _cli_doctor_facts.driver(tmp_path) == {"folder": None, "version": None, "npu_smi": _cli_doctor_facts.shutil.which("npu-smi"),
                                                  "device_files": [], "not_accessible": []}
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/ascend_install.info").write_text("UserName=x\nDriver_Install_Path_Param=/opt/Ascend\n")
    (tmp_path / "opt/Ascend/driver").mkdir(parents=True)
    (tmp_path / "opt/Ascend/driver/version.info").write_text("Version=24.1.rc3\nascendhal_version=7.35.19\n")
    (tmp_path / "dev").mkdir()
    for name in ("davinci0", "davinci11", "davinci_manager", "davinciX", "null"):
        (tmp_path / "dev" / name).touch()
    found = _cli_doctor_facts.driver(tmp_path)
    assert (found["folder"], found["version"]) == (str(tmp_path / "opt/Ascend/driver"), "24.1.rc3")
    assert [Path(path).name for path in found["device_files"]] == ["davinci0", "davinci11", "davinci_manager"]


def test_installations_of_cann(tmp_path):
    root = tmp_path / "cann"
    (root / "lib64").mkdir(parents=True)
    (root / "lib64/libascendcl.so").touch()
    (root / "share/info/runtime").mkdir(parents=True)
    (root / "share/info/runtime/version.info").write_text("Version=8.5.0.alpha001\n")
    found = _cli_doctor_facts.cann({"ASCEND_HOME_PATH": str(root), "HOME": str(tmp_path)})
    assert found[0] == {"folder": str(root), "version": "8.5.0.alpha001", "library": str(root / "lib64/libascendcl.so"), "compiler": None}
