#!/usr/bin/env bash
# Wheels of this machine into dist/: cp311 and, where a Python 3.12 or later is found, the stable-ABI
# one. Both are built from the unpacked sdist, which so is shown to be complete, repaired by auditwheel
# and tried, tutorials included, in an environment without a compiler.
# libgomp is left out of the repair: torch brings it, and two copies would be two sets of threads.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${PYTHON:-python3}
mkdir -p dist
"$tools" -m build --sdist --outdir dist .
rm -rf build/sdist && mkdir -p build/sdist
tar -xzf dist/*.tar.gz -C build/sdist --strip-components=1
for python in python3.11 ${NEWER_PYTHON:-python3.12}; do
  "$python" -c "" 2>/dev/null || { echo "$python is not here: its wheel is not built"; continue; }
  raw=$(mktemp -d)
  "$python" -m pip wheel --quiet --no-deps --config-settings=build-dir=build/wheel/{wheel_tag} \
    --wheel-dir "$raw" build/sdist
  ! ls "$raw"/*-none-any.whl 2>/dev/null || { echo "the loops did not compile for $python"; exit 1; }
  "$tools" -m auditwheel repair --exclude libgomp.so.1 --wheel-dir dist "$raw"/*.whl
  rm -rf "$raw"
done
for wheel in dist/*abi3*.whl; do
  [ ! -e "$wheel" ] || "$tools" -m abi3audit --strict --report "$wheel"
done
"$tools" scripts/try_wheel.py --record dist/tried.json dist/*.whl
