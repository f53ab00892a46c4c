# SPDX-License-Identifier: Apache-2.0
"""Which AscendCL functions does a shared library export, and are they all ours to export?"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

# Exported by the embedded device library without being in the function list.
OUTSIDE_THE_LIST = {
    "aclAppLog",  # varargs: it has a prototype, but no place in the table
}


def exported_functions(library: Path) -> set[str]:
    """The defined acl* symbols in the dynamic symbol table."""
    text = subprocess.run(
        ["nm", "-D", "--defined-only", str(library)], check=True, capture_output=True, text=True
    ).stdout
    # Versioned symbols read name@@VERSION.
    return {match.group(1) for match in re.finditer(r"^[0-9a-f]+ \w (acl\w+)(?:@\S*)?$", text, re.M)}


def unknown_exports(library: Path, functions: set[str]) -> list[str]:
    """Exported acl* symbols that are in neither the function list nor the set above."""
    return sorted(exported_functions(library) - functions - OUTSIDE_THE_LIST)
