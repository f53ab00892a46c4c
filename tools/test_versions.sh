#!/usr/bin/env bash
# Runs both README commands from a clean clone, in new virtual environments, on every supported Python.
#
#   tools/test_versions.sh [VERSION …]      default: 3.10 3.11 3.12 3.13
#
# An interpreter is python<VERSION> on the PATH (or, with pyenv, one of its versions). Where the CPU build of torch 2.13.0
# can be installed without an index (Python 3.11), the tests with torch run; elsewhere they are skipped by name.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(3.10 3.11 3.12 3.13)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

interpreter() {
    local candidate
    for candidate in "python$1" "$HOME"/.pyenv/versions/"$1".*/bin/python3; do
        if "$candidate" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "no Python $1 found" >&2
    return 1
}

readme_command() {
    awk -v name="$1" '$0 ~ "<!-- command: " name " -->" { wanted = 1; next }
                      wanted && /^```/ { if (inside) exit; inside = 1; next } inside' "$work/clone/README.md"
}

failed=0
for version in "${versions[@]}"; do
    python=$(interpreter "$version")
    for name in demo test; do
        rm -rf "$work/clone" "$work/venv"
        git clone -q "$root" "$work/clone"
        "$python" -m venv "$work/venv"
        log="$work/$version-$name.log"
        if (
            cd "$work/clone"
            . "$work/venv/bin/activate"
            if [ "$name" = test ] && pip install -q --no-index --no-deps torch==2.13.0 >/dev/null 2>&1; then
                pip install -q torch==2.13.0
            fi
            eval "$(readme_command "$name")"
        ) >"$log" 2>&1 </dev/null; then
            echo "Python $version, $name: passed; $(tail -n 1 "$log")"
        else
            echo "Python $version, $name: FAILED"
            tail -n 40 "$log"
            failed=1
        fi
    done
done
exit $failed
