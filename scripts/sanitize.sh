#!/usr/bin/env bash
# Builds the extension with the address and undefined-behaviour sanitizers and runs the kernel tests on it.
# PYTHON names an interpreter that has the project's development dependencies (make sanitize sets it).
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
build=build/sanitize
set=${ELASTICGNN_SIMD:-native}  # one set is enough, and takes minutes
"$python" -m cmake --version >/dev/null 2>&1 && cmake="$python -m cmake" || cmake=cmake
$cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DELASTICGNN_SANITIZE=ON -DELASTICGNN_SETS=$set \
  -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" >/dev/null
$cmake --build "$build" --parallel 2
extension=$(ls "$PWD/$build"/_native*.so)
# Python and torch are not instrumented: the runtime is preloaded, and their own leaks are not ours.
export LD_PRELOAD="$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)"
export ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 UBSAN_OPTIONS=print_stacktrace=1
export ELASTICGNN_NATIVE="$extension" OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
"$python" -m pytest tests/kernels tests/operator/test_fused.py tests/operator/test_fused_gradients.py tests/operator/test_packed.py \
  tests/operator/test_wide.py tests/operator/test_population.py tests/nn/test_attention.py tests/solver/test_lanes.py -q -p no:cacheprovider "$@"
