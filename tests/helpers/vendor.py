# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for CANN's device library, of several releases: tests/c/host/fake_acl.c."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import embedded

import ascend_cy

SOURCES = Path(__file__).resolve().parents[1] / "c" / "host"
FAKES = {"full": ["fake_acl.c"], "8.1": ["fake_acl.c", "-DFAKE_ACL_LEVEL=1"], "stub": ["fake_stub.c"]}


def build(root: Path, kind: str) -> Path:
    """Makes `root` a folder that looks like a CANN installation."""
    (root / "lib64").mkdir(parents=True)
    source, *flags = FAKES[kind]
    command = [*embedded.compiler("CC", "gcc"), "-std=gnu11", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Wextra",
               "-Werror", *flags, f"-I{ascend_cy.get_include()}", str(SOURCES / source), "-o",
               str(root / "lib64" / "libascendcl.so"), "-Wl,-soname,libascendcl.so", "-lpthread"]
    subprocess.run(command, check=True, cwd=root)
    return root


def controls() -> list[str]:
    """The functions of fake_acl_controls, in their order."""
    return re.findall(r"\(\*(\w+)\)\(", (SOURCES / "fake_acl.h").read_text())
