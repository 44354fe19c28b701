PYTHON ?= python3
JOBS ?= 2
RESULTS ?= results
SWEEP ?= standard

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

# one BLAS thread: timings and rounding errors do not depend on the number of cores
export OMP_NUM_THREADS = 1
export OPENBLAS_NUM_THREADS = 1
export MKL_NUM_THREADS = 1

.PHONY: help setup lint format test smoke bench gate speed exhaustive docs clean
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv and install everything into it

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/stabbench doctor
	$(BIN)/stabbench sweep smoke -j 1 -o "$$(mktemp -d)" 2>/dev/null
	@touch $@

lint: $(READY) ## check style, types and the order of the rooms
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY) ## mend what ruff can mend
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

test: $(READY) ## run the tests and the examples of the docstrings
	$(BIN)/pytest --numprocesses $(JOBS) --dist worksteal --benchmark-disable

smoke: $(READY) ## run the smallest sweep, about 20 seconds
	$(BIN)/stabbench sweep smoke -o $(RESULTS)/smoke --aside

bench: $(READY) ## run the standard sweep, write its report, give the verdict
	$(BIN)/stabbench sweep standard -o $(RESULTS)/standard --aside
	$(BIN)/stabbench report $(RESULTS)/standard
	$(BIN)/stabbench gate $(RESULTS)/standard --bounds benchmarks/bounds.toml --baseline results/baseline

gate: $(READY) ## judge a finished sweep (SWEEP=standard) by the bounds and the baseline
	$(BIN)/stabbench gate $(RESULTS)/$(SWEEP) --bounds benchmarks/bounds.toml --baseline results/baseline

speed: $(READY) ## measure times and ratios into results/speed
	mkdir -p $(RESULTS)/speed
	$(BIN)/pytest benchmarks/speed --benchmark-only --benchmark-json=$(RESULTS)/speed/latest.json

exhaustive: $(READY) ## check exact recovery of every gradient code, some minutes
	$(BIN)/pytest benchmarks/exhaustive -n $(JOBS)

docs: $(READY) ## build the documentation into docs/_build/html
	$(BIN)/python docs/generate_cli.py
	$(BIN)/python docs/generate_codes.py
	$(BIN)/sphinx-build -W --keep-going --quiet docs docs/_build/html

clean: ## remove caches and built files; .venv and results stay
	rm -rf dist docs/_build docs/gallery docs/generated docs/sg_execution_times.rst
	rm -rf .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find benchmarks docs stabbench tests -name __pycache__ -type d -prune -exec rm -rf {} +
