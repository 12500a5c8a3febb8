#!/usr/bin/env bash
# Builds the extension with sanitizers and runs the kernel tests on it. SANITIZER=address (the default) looks for bad
# addresses and undefined behaviour, SANITIZER=thread for races between the threads of a loop.
# PYTHON names an interpreter that has the project's development dependencies (make sanitize sets it).
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
sanitizer=${SANITIZER:-address}
build=build/sanitize-$sanitizer
set=${ELASTICGNN_SIMD:-native}  # one set is enough, and takes minutes
"$python" -m cmake --version >/dev/null 2>&1 && cmake="$python -m cmake" || cmake=cmake
$cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DELASTICGNN_SANITIZE="$sanitizer" -DELASTICGNN_SETS="$set" \
  -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" >/dev/null
$cmake --build "$build" --parallel 2
export ELASTICGNN_NATIVE="$(ls "$PWD/$build"/_native*.so)" OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
# Every family of kernels/: emp, attention, flipped, features, perceptrons (populations), graph, distributed, solver.
loops=(tests/operator/test_fused.py tests/operator/test_fused_gradients.py tests/operator/test_packed.py
  tests/operator/test_wide.py tests/operator/test_population.py tests/nn/test_attention.py tests/operator/test_flipped.py
  tests/features/test_product.py tests/features/test_dropout.py tests/training/test_population.py tests/graph/test_packing.py
  tests/distributed/test_operator.py tests/distributed/test_zero_rows.py tests/solver/test_lanes.py
  tests/solver/test_interior.py tests/solver/test_precise.py tests/solver/test_sparse_cholesky.py tests/solver/test_fill.py
  tests/solver/test_trends.py tests/solver/test_any_order.py tests/solver/test_minimise.py)
run() { "$python" -m pytest -q -p no:cacheprovider "$@" | tee "$build/output"; }
count() { grep -oE "[0-9]+ $1" "$build/output" | grep -oE "[0-9]+" || echo 0; }

# Python and torch are not instrumented: the runtime is preloaded, and their own leaks are not ours.
if [ "$sanitizer" = address ]; then
  export LD_PRELOAD="$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libubsan.so)"
  export ASAN_OPTIONS=detect_leaks=0:detect_odr_violation=0 UBSAN_OPTIONS=print_stacktrace=1
  # That test bounds the address space, in which the sanitizer keeps terabytes for itself.
  run tests/kernels "${loops[@]}" --deselect tests/solver/test_fill.py::test_a_factor_of_gigabytes_is_not_begun "$@"
  printf '{"set": "%s", "passed": %d, "failed": %d}\n' "$set" "$(count passed)" "$(count failed)" > results/reliability/addresses.json
  exit
fi

# An entry that the stand-in lacks would be found in gcc's runtime, which knows nothing of these threads: each of them
# would run the whole loop.
if nm -D --undefined-only "$ELASTICGNN_NATIVE" | grep -E " (GOMP|omp)_"; then
  echo "scripts/threads_seen/team.cpp must have these entries too"; exit 1
fi

# Addresses without randomness: this sanitizer expects libraries where they always were.
tsan=$(gcc -print-file-name=libtsan.so)
quiet="suppressions=$PWD/scripts/threads_seen/suppressions.txt:report_signal_unsafe=0"
run_watched() { LD_PRELOAD="$tsan" TSAN_OPTIONS="$quiet:$1" setarch -R "$python" -m pytest -q -p no:cacheprovider --timeout=0 "${@:2}"; }
export ELASTICGNN_TEAMS_COME_AND_GO=1  # the stand-in makes the threads of each loop anew
# Every test of a loop with more than one thread proves that they worked (native.last_threads).
threads=(tests/operator/test_fused.py tests/operator/test_fused_torch.py tests/operator/test_packed.py tests/operator/test_wide.py
  tests/operator/test_population.py tests/operator/test_flipped.py tests/nn/test_attention.py tests/features/test_product.py
  tests/training/test_population.py tests/solver/test_lanes.py tests/solver/test_minimise.py
  tests/distributed/test_operator.py -k "thread and not processes")
# First the proof that it would see a race: with barriers that it cannot see, the same loops must be reported. The first
# report ends that run: thousands would follow, each with the stacks of Python.
counted() { cat "$PWD/$build/$1".[0-9]* 2>/dev/null | grep -c "WARNING: ThreadSanitizer: $2" || true; }
rm -f "$build"/hidden.[0-9]* "$build"/seen.[0-9]*
ELASTICGNN_HIDE_BARRIERS=1 run_watched "halt_on_error=1:log_path=$PWD/$build/hidden" "${threads[@]}" >/dev/null || true
hidden=$(counted hidden "data race")
echo "with barriers hidden: $hidden race reported, where it stopped"
[ "$hidden" -gt 0 ] || { echo "the sanitizer sees nothing"; exit 1; }
run_watched "exitcode=66:log_path=$PWD/$build/seen" "${threads[@]}" "$@" | tee "$build/output" || true
seen=$(counted seen "")
echo "with barriers as they are: $seen reports"
passed=$(count passed)
failed=$(count failed)
printf '{"set": "%s", "passed": %d, "failed": %d, "reports": %d, "race reported with hidden barriers": %d}\n' \
  "$set" "$passed" "$failed" "$seen" "$hidden" > results/reliability/threads.json
[ "$seen" = 0 ] && [ "$failed" = 0 ]
