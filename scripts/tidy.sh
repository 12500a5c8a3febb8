#!/usr/bin/env bash
# clang-tidy on every compiled file, as one instruction set sees it. Usage: PYTHON=python scripts/tidy.sh
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python}
tidy=$(dirname "$(command -v "$python")")/clang-tidy
kernels=src/elasticgnn/kernels
include=$("$python" -c "import sysconfig; print(sysconfig.get_path('include'))")
# clang's own headers first; gcc's only for what clang has not, omp.h
flags="-std=c++17 -I$kernels -I$("$python" -m nanobind --include_dir) -I$include
  -idirafter $(${CXX:-g++} -print-file-name=include) -Wno-unknown-pragmas -Wno-psabi
  -DELASTICGNN_ONLY=avx512 -DISA_NAMESPACE=avx512
  -mavx512f -mavx512vl -mavx512dq -mavx512bw -mavx2 -mfma -mbmi2"
families=$(mktemp -d)
trap 'rm -r "$families"' EXIT
find "$kernels" -name 'bind_*.cpp' -exec basename {} .cpp \; | sed 's/.*/ELASTICGNN_FAMILY(&)/' > "$families/families.inc"
find "$kernels" -name '*.cpp' -print0 |
  xargs -0 -n 1 -P "$(nproc)" sh -c '"$0" --quiet "$2" -- $1 2>&1 | grep -v "warnings\? generated" ; exit 0' "$tidy" "$flags -I$families" > "$families/output" || true
if grep -E "(error|warning):" "$families/output" >/dev/null; then cat "$families/output"; exit 1; fi
