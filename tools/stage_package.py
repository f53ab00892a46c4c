#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Links together in the build folder what an installation has together: an editable install finds its files there.

Meson runs it after every configuration (add_postconf_script). What is not built yet is a link that leads nowhere until it is.
"""

import json
import os
from pathlib import Path


def link(target: Path, name: Path) -> None:
    if target.is_dir():
        for child in target.iterdir():
            link(child, name / child.name)
        return
    if name.is_symlink() and os.readlink(name) == str(target):
        return
    name.parent.mkdir(parents=True, exist_ok=True)
    name.unlink(missing_ok=True)
    name.symlink_to(target)


def main() -> None:
    build = Path(os.environ["MESON_BUILD_ROOT"])
    plan = json.loads((build / "meson-info" / "intro-install_plan.json").read_text())
    for part in plan.values():
        for source, about in part.items():
            root, _, name = about["destination"].partition("/")
            if root in ("{py_platlib}", "{py_purelib}"):
                link(Path(source), build / "staged" / name)


if __name__ == "__main__":
    main()
