#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compiler that the samples' build files find: rewrites the `<<<>>>` launches of a source, and calls g++.

Nothing else of the source changes, and every line stays on its line.
"""

import os
import re
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "ascend_cy"))
import _kernel_entries  # noqa: E402


def opening_angle(text: str, closing: int) -> int:
    """Index of the `<` that opens the template arguments ending at `closing`."""
    depth = 0
    for i in range(closing, -1, -1):
        depth += {">": 1, "<": -1}.get(text[i], 0)
        if depth == 0:
            return i
    raise ValueError("unbalanced template arguments")


def rewrite(text: str) -> str:
    """`k<t><<<configuration>>>(arguments)` becomes a call of asc_samples::Launch."""
    plain = _kernel_entries.strip_comments(text)
    synchronizes = _kernel_entries._BLOCK_SYNC.search(plain) is not None
    done, out = 0, ""
    for match in re.finditer(r"<<<", plain):
        end = plain.index(">>>", match.end())
        arguments = end + 3 + re.match(r"\s*", plain[end + 3 :]).end()
        close = _kernel_entries._closing(plain, arguments, "(", ")")
        name_end = match.start()
        begin = len(plain[:name_end].rstrip())
        if plain[begin - 1] == ">":
            begin = opening_angle(plain, begin - 1)
        begin = re.search(r"(?:[A-Za-z_]\w*\s*::\s*)*[A-Za-z_]\w*\s*$", plain[:begin]).start()
        kernel, configuration = text[begin:name_end].strip(), text[match.end() : end]
        given = text[arguments + 1 : close]
        out += text[done:begin]
        out += (
            f'::asc_samples::Launch("{kernel.split("<")[0].strip()}", {str(synchronizes).lower()}, '
            f"{{{configuration}}}, [](auto... asc_a) {{ {kernel}(asc_a...); }}"
            f"{', ' if given.strip() else ''}{given})"
        )
        done = close + 1
    return out + text[done:]


def main() -> int:
    home = Path(os.environ["ASCEND_HOME_PATH"])
    words, source, link = [], None, "-c" not in sys.argv
    for word in sys.argv[1:]:
        if word.endswith((".asc", ".cpp")) and not link:
            source = Path(word)
        elif not word.startswith(("--npu-arch", "--gcc-toolchain", "--cce", "--sanitizer")):
            words.append(word)
    common = [os.environ.get("CXX", "g++"), "-std=c++17", "-O1", "-fPIC", "-fno-strict-aliasing", "-ffp-contract=off"]
    if link:
        libraries = [f"-L{home}/lib64", f"-Wl,-rpath,{home}/lib64:$ORIGIN", "-lasc_samples", "-lascendcl", "-pthread", "-ldl"]
        os.execvp(common[0], [*common, *words, *libraries])
    text = source.read_text(encoding="utf-8-sig")
    with tempfile.NamedTemporaryFile("w", suffix=".cpp", encoding="utf-8", delete=False) as new:
        new.write(f'#line 1 "{source}"\n{rewrite(text)}')
    try:
        return os.spawnvp(
            os.P_WAIT, common[0],
            [*common, "-w", "-iquote", str(source.parent), f"-I{HERE}", f"-I{ROOT}/csrc/ascendc/include",
             f"-I{ROOT}/csrc/include", f"-I{home}/include", "-include", "launch.h",
             *(["-include", "kernel_operator.h"] if source.suffix == ".asc" else []), *words, new.name],
        )  # fmt: skip
    finally:
        os.unlink(new.name)


if __name__ == "__main__":
    raise SystemExit(main())
