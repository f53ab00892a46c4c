# SPDX-License-Identifier: Apache-2.0
"""Which leaks in reports of LeakSanitizer are ours: leaks_of.py FOLDER REPORT ... (files as ASAN_OPTIONS=log_path= names them).

CPython, NumPy and the compilers that tests start give much back to the system only by ending, so a whole run always has
leaks. Ours are those that were allocated by a library of FOLDER, the installed package, below any frame of the
interpreter: the first frame after the allocator, or after frames of the C++ library, decides.
"""

import re
import sys
from pathlib import Path

ALLOCATORS = ("libsanitizer", "libasan", "libstdc++", "libc.so")


def blocks(text):
    """The stacks of all leaks, each a list of lines with its title first."""
    block = None
    for line in text.splitlines():
        if re.match(r"(Direct|Indirect) leak of", line):
            block = [line]
        elif block is not None and line.strip().startswith("#"):
            block.append(line)
        elif block is not None:
            yield block
            block = None
    if block is not None:
        yield block


def is_ours(block, folder):
    if not block[0].startswith("Direct"):
        return False  # reachable from a direct one, which is judged itself
    for line in block[1:]:
        if any(name in line for name in ALLOCATORS):
            continue
        return folder in line or "/csrc/host/" in line or "/csrc/cpu_device/" in line
    return False


def main(folder, *reports):
    ours = set()
    seen = 0
    for report in reports:
        for block in blocks(Path(report).read_text(errors="replace")):
            seen += 1
            if is_ours(block, folder):
                ours.add("\n".join(block[:1] + [re.sub(r"0x[0-9a-f]+", "0x", line) for line in block[1:12]]))
    print(f"{seen} leaks in {len(reports)} processes, {len(ours)} kinds of ours")
    for text in sorted(ours):
        print(text)
    return 1 if ours else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
