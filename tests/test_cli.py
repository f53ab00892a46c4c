# SPDX-License-Identifier: Apache-2.0
"""The console script: usage, ``info``, ``config`` and ``demo``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_program import environment, finish, good, refused, run, start

COMMANDS = ("demo", "layernorm", "info", "config")


# ---- usage ----


def test_help_and_version(tmp_path):
    import ascend_cy

    assert good("--version", cwd=tmp_path) == f"ascend-cy {ascend_cy.__version__}\n"
    text = good("--help", cwd=tmp_path)
    for command in COMMANDS:
        assert f"    {command}" in text
        assert f"usage: ascend-cy {command}" in good(command, "--help", cwd=tmp_path)


@pytest.mark.parametrize(
    "words", [[], ["nothing"], ["--nothing"], ["info", "more"], ["config"], ["demo", "--keep"]]
)
def test_bad_usage(tmp_path, words):
    assert "--help" in refused(*words, cwd=tmp_path)


def test_reader_that_goes_away(tmp_path):
    process = start("info", cwd=tmp_path)
    process.stdout.close()
    process.stdout = None
    done = finish(process)
    assert (done.returncode, done.stderr) == (141, "")


def test_output_that_cannot_be_written(tmp_path):
    with open("/dev/full", "w") as full:
        assert "No space left on device" in refused("info", cwd=tmp_path, stdout=full)


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_closed_streams(tmp_path, closed):
    np.save(tmp_path / "x.npy", np.ones((3, 4), "f4"))
    words = ("layernorm", "x.npy", "y.npy", "--progress")
    done = run(*words, cwd=tmp_path, preexec_fn=lambda: os.close(closed))
    assert done.returncode == 0
    assert np.array_equal(np.load(tmp_path / "y.npy"), np.zeros((3, 4)))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding(tmp_path, encoding):
    good("demo", cwd=tmp_path, env={"PYTHONIOENCODING": encoding})


def test_nothing_is_written_to_the_folder(tmp_path):
    good("demo", cwd=tmp_path)
    good("info", cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


# ---- info ----


def test_info(tmp_path):
    import ascend_cy

    text = good("info", cwd=tmp_path)
    lines = dict(line.split(maxsplit=1) for line in text.splitlines() if not line.startswith(" "))
    assert lines["version"].startswith(f"ascend_cy {ascend_cy.__version__} (")
    assert lines["device"].startswith("cpu: ")
    assert lines["library"] == str(Path(ascend_cy.get_library_dir(), "libascendcl_cpu.so"))
    assert lines["devices"] == "1"
    assert "layernorm" in lines["kernels"]
    assert " free of " in lines["memory"]
    assert int(lines["threads"].split()[0]) >= 1


def test_info_json(tmp_path):
    env = {"ASCENDCL_CPU_DEVICES": "2", "ASCENDCL_CPU_WORKERS": "3", "ASCENDCL_CPU_MEMORY": "64MiB"}
    facts = json.loads(good("info", "--json", "--device", "cpu:1", cwd=tmp_path, env=env))
    assert facts["problem"] is None
    device = facts["device"]
    assert (device["kind"], device["device_count"], device["number"], device["threads"]) == ("cpu", 2, 1, 3)
    assert device["memory"]["total"] == 64 << 20
    assert 0 < device["memory"]["free"] <= device["memory"]["total"]
    assert device["soc"] == "Ascend910B1"
    assert any(name.startswith("layernorm") for name in facts["kernels"]["cpu"])


@pytest.mark.parametrize(
    ("env", "words", "message"),
    [
        ({}, ["--device", "npu"], "no NPU can be used"),
        ({"ASCEND_CY_DEVICE": "npu"}, [], "no NPU can be used"),
        ({"ASCEND_CY_DEVICE": "gpu"}, [], 'ASCEND_CY_DEVICE is "gpu"'),
        ({"ASCENDCL_CPU_DEVICES": "0"}, ["--device", "cpu"], "reports no device"),
        ({}, ["--device", "cpu:1"], "there is no device 1"),
        ({"ASCENDCL_CPU_MEMORY": "some"}, ["--device", "cpu"], "ASCENDCL_CPU_MEMORY"),
    ],
)
def test_info_without_a_device(tmp_path, env, words, message):
    done = run("info", *words, cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.splitlines()[-1].startswith("ascend-cy: error: ")
    assert "device    none" in done.stdout
    done = run("info", "--json", *words, cwd=tmp_path, env=env)
    assert done.returncode == 1
    assert message in json.loads(done.stdout)["problem"]


def test_info_tells_what_was_tried(tmp_path):
    done = run("info", "--device", "npu", cwd=tmp_path, env={"ASCEND_HOME_PATH": "/nowhere"})
    assert "/nowhere/lib64/libascendcl.so" in done.stdout


# ---- config ----


def test_config(tmp_path):
    include = good("config", "--include-dir", cwd=tmp_path).rstrip("\n")
    assert Path(include, "ascend_cy", "acl.h").is_file()
    assert good("config", "--cflags", cwd=tmp_path) == f"-I{include}\n"
    libraries = good("config", "--lib-dir", cwd=tmp_path).rstrip("\n")
    assert Path(libraries, "libascend_cy.so").is_file()
    assert Path(libraries, "libascendcl_cpu.so").is_file()


# ---- demo ----


def test_demo(tmp_path):
    import ascend_cy

    text = good("demo", cwd=tmp_path)
    assert text.count("   ok\n") == 6
    assert "WRONG" not in text
    root = ascend_cy.get_library_dir()
    for layer in ("_layernorm.", "libascend_cy.so", "libascendcl_cpu.so", "kernels/cpu/layernorm."):
        assert f"  {layer}" in text
    assert f"What ran, in {root}\n" in text
    assert "569 rows of 30 features" in text
    assert "All results are within tolerance." in text


def test_demo_keeps_its_files(tmp_path):
    good("demo", "--keep", "new/files", cwd=tmp_path)
    files = tmp_path / "new" / "files"
    assert {path.name for path in files.iterdir()} == {
        f"{name}.npy" for name in ("gamma", "beta", "x_float32", "x_float16", "y_float32", "y_float16")
    }
    words = (
        "layernorm",
        files / "x_float32.npy",
        "y.npy",
        "--gamma",
        files / "gamma.npy",
        "--beta",
        files / "beta.npy",
    )
    good(*words, cwd=tmp_path)
    assert (tmp_path / "y.npy").read_bytes() == (files / "y_float32.npy").read_bytes()
    x = np.load(files / "x_float32.npy")
    assert x.shape == (569, 30) and x.min() >= 0 and x.max() == 4254


def test_demo_that_cannot_write(tmp_path):
    (tmp_path / "file").touch()
    assert "cannot make the folder" in refused("demo", "--keep", "file/folder", cwd=tmp_path)
    assert "no NPU can be used" in refused("demo", "--device", "npu", cwd=tmp_path)


def test_demo_leaves_no_temporary_files(tmp_path):
    good("demo", cwd=tmp_path, env={"TMPDIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) == []


def test_demo_on_one_of_several_devices(tmp_path):
    assert "cpu, device 1" in good(
        "demo", "--device", "cpu:1", cwd=tmp_path, env={"ASCENDCL_CPU_DEVICES": "2"}
    )


@pytest.mark.parametrize("where, wrong", [("host", 2), ("device", 4)])
def test_demo_notices_wrong_results(tmp_path, where, wrong):
    """Results with one wrong element end with exit code 1."""
    code = """
        import sys
        import ascend_cy
        from ascend_cy import cli

        right = ascend_cy.layernorm

        def wrong(x, *args, **kwargs):
            y = right(x, *args, **kwargs)
            if isinstance(y, ascend_cy.DeviceArray):
                if sys.argv[1] == "device":
                    y[-1, -1:] = 9
            elif sys.argv[1] == "host":
                y[-1, -1] *= 1.01
            return y

        wrong.__module__ = right.__module__
        ascend_cy.layernorm = wrong
        sys.exit(cli.main(["demo"]))
    """
    code = "\n".join(line[8:] for line in code.splitlines())
    command = [sys.executable, "-c", code, where]
    options = {"cwd": tmp_path, "env": environment(), "capture_output": True, "text": True, "timeout": 60}
    done = subprocess.run(command, **options, check=False)
    assert done.returncode == 1, done
    assert done.stdout.count("WRONG") == wrong
    assert done.stdout.count("   ok\n") == 6 - wrong


def test_demo_with_a_kernel_that_fails(tmp_path):
    message = refused("demo", cwd=tmp_path, env={"ASCENDCL_CPU_FAULT": "kernel=*", "TMPDIR": str(tmp_path)})
    assert "507015" in message
    assert list(tmp_path.iterdir()) == []


def test_wide_terminal_is_not_needed(tmp_path):
    assert max(map(len, good("demo", cwd=tmp_path).splitlines())) < 200
    assert os.path.isabs(good("config", "--lib-dir", cwd=tmp_path))
