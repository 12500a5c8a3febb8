# `make run` and `make test` set up .venv on first use; everything is installed through constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CUT_PURSUIT := $(VENV)/cut-pursuit/bin/python
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
NATIVE := CMakeLists.txt pyproject.toml $(wildcard src/elasticgnn/kernels/*.cpp src/elasticgnn/kernels/*.h)

.PHONY: run test check format bench bench-solver bench-attack sanitize clean

run: $(VENV)/.run ## The main job on bundled Cora: table and picture
	$(BIN)/elasticgnn demo

test: $(VENV)/.dev ## The whole test suite
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.dev ## Lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench ## Operator and training against their peers, in one run
	$(BIN)/python benchmarks/bench_operator.py
	$(BIN)/python benchmarks/bench_training.py --output benchmarks/results/training.json

bench-solver: $(VENV)/.bench ## The certified solver against generic and graph-TV solvers
	test -x $(CUT_PURSUIT) || $(MAKE) $(CUT_PURSUIT) || true # left out, with its reason, if it fails
	CUT_PURSUIT_PYTHON=$(CUT_PURSUIT) $(BIN)/python benchmarks/bench_solver.py

bench-attack: $(VENV)/.bench ## Metattack: seconds per flip and peak memory
	$(BIN)/python benchmarks/bench_attack.py

sanitize: $(VENV)/.dev ## Kernel tests with the address and undefined-behaviour sanitizers
	PYTHON=$(BIN)/python bash scripts/sanitize.sh

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# a first look needs the instruction set of this machine alone, which compiles in half the time
$(VENV)/.run: $(NATIVE) constraints.txt | $(BIN)/python
	PIP_CONSTRAINT=constraints.txt $(PIP) --config-settings=cmake.define.ELASTICGNN_SETS=native --editable .
	touch $@

$(VENV)/.dev: $(NATIVE) constraints.txt | $(BIN)/python
	PIP_CONSTRAINT=constraints.txt $(PIP) --editable '.[dev]'
	touch $@ $(VENV)/.run

# pycut-pursuit is built for numpy 1: an environment of its own
$(CUT_PURSUIT): | $(BIN)/python
	$(PYTHON) -m venv $(VENV)/cut-pursuit.new
	$(VENV)/cut-pursuit.new/bin/python -m pip install --quiet 'numpy<2' pycut-pursuit==0.1.4
	rm -rf $(VENV)/cut-pursuit && mv $(VENV)/cut-pursuit.new $(VENV)/cut-pursuit

$(VENV)/.bench: $(VENV)/.dev
	PIP_CONSTRAINT=constraints.txt $(PIP) --editable '.[bench]'
	touch $@
