# `make demo` and `make test` do all the set-up on a fresh machine that has Python and a C compiler.
# Everything they make lies in .venv, build and demo; `make clean` removes it.

PYTHON ?= python3
DEMO_STREAM ?= ImageSegments
STEPS ?= 100000
SAMPLES ?= 10000000
# Of what Python writes alone: the report of a process that stops would be captured and lost.
CAPTURE := --capture=sys
CORE_TESTS := tests/core tests/estimator/test_contract_input.py \
	tests/estimator/test_contract_frames.py tests/test_shrub_ensemble.py \
	--ignore=tests/core/dynamic/test_calibration.py
VENV := .venv
RUN := $(VENV)/bin/python
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check

SKIPPED := $(SKIP:%=examples/notebooks/%.ipynb)
NOTEBOOKS := $(filter-out $(SKIPPED),$(patsubst %.py,%.ipynb,$(wildcard examples/notebooks/*.py)))
SOURCES := $(shell find river_extra_trees -name "*.py" -o -name "*.pyx" -o -name "*.pxd")

.DEFAULT_GOAL := help
.PHONY: help build demo notebooks docs test test-quick checked checked-core asan coverage machine mutants soak before speed \
	ratios fuzz lint format clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The files below .venv/installed say what the environment already holds.
$(VENV)/installed/package: pyproject.toml setup.py
	@tools/require.sh $(PYTHON)
	@echo "Making the virtual environment $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip
	@$(PIP) --group build
	@echo "Compiling the core ..."
	@$(RUN) setup.py --quiet build_ext --inplace
	@echo "Installing what it needs ..."
	@PYTHONWARNINGS=ignore $(PIP) --no-build-isolation --editable '.[cli,plot,serve,dataframe]'
	@mkdir -p $(@D) && touch $@

$(VENV)/installed/test $(VENV)/installed/lint $(VENV)/installed/coverage $(VENV)/installed/fuzz \
$(VENV)/installed/notebooks $(VENV)/installed/docs: $(VENV)/installed/package
	@echo "Installing the packages of the group $(@F) ..."
	@$(PIP) --group $(@F)
	@touch $@

build: $(VENV)/installed/package ## compile what has changed (RIVER_EXTRA_TREES_BUILD names the mode)
	@$(RUN) setup.py --quiet build_ext --inplace

demo: build ## race the learners on a data set bundled with river
	@mkdir -p demo
	@$(RUN) -m river_extra_trees race $(DEMO_STREAM) --metric Accuracy --plot demo/race.png --csv demo/race.csv
	@echo "Look at demo/race.png. Then: make notebooks"

notebooks: $(NOTEBOOKS) ## make and run the notebooks of examples/notebooks (SKIP= names some)
	@echo "Open them with $(VENV)/bin/jupyter lab examples/notebooks"

examples/notebooks/%.ipynb: examples/notebooks/%.py $(SOURCES) | build $(VENV)/installed/notebooks
	@echo "Running $< ..."
	@$(RUN) -m jupytext --quiet --to ipynb --set-kernel python3 $<
	@cd $(@D) && $(abspath $(RUN)) -m nbconvert --log-level WARN --to notebook --inplace --execute \
		--KernelManager.transport=ipc $(@F) || { rm -f $(@F); false; }

docs: $(NOTEBOOKS) $(VENV)/installed/docs ## build the pages of the documentation in build/docs
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --quiet --strict
	@echo "Open build/docs/index.html, or serve the pages with $(RUN) -m mkdocs serve"

# Some containers forbid it: then each of the many processes that tests start compiles the package anew.
test: export PYTHONDONTWRITEBYTECODE :=
test: build $(VENV)/installed/test ## run the whole test suite (ARGS= goes to pytest)
	@$(RUN) -m pytest -n auto --dist loadgroup $(ARGS)

test-quick: ## run the tests but the slow ones, with a third of the cases of each
	@$(MAKE) --no-print-directory test ARGS='--quick $(ARGS)'

checked: ## run the tests with bounds checks and C asserts
	@RIVER_EXTRA_TREES_BUILD=checked $(MAKE) --no-print-directory test ARGS='$(CAPTURE) $(ARGS)'

# Compiled into a folder of its own, from which the tests import: the usual build stays in place.
checked-core: $(VENV)/installed/test ## run the tests of the core with bounds checks and C asserts
	@RIVER_EXTRA_TREES_BUILD=checked $(RUN) setup.py --quiet build --build-lib build/checked
	@$(RUN) -m tools.planted_bugs checked
	@$(RUN) -m pytest -n auto --dist loadgroup --override-ini "pythonpath=build/checked ." \
		$(CAPTURE) $(CORE_TESTS) $(ARGS)

asan: export RIVER_EXTRA_TREES_BUILD = asan
asan: $(VENV)/installed/test ## run the tests under the sanitizers, which have to find planted bugs first
	@$(RUN) setup.py --quiet build_ext --inplace
	@tools/under_sanitizers.sh $(RUN) -m tools.planted_bugs asan
	@tools/under_sanitizers.sh $(RUN) -m pytest -n auto --dist loadgroup $(CAPTURE) $(ARGS)

# The loader of model files and the conversion of input: every line has to be reached.
WHOLLY_REACHED := persistence/files.py persistence/container.py persistence/encoding.py persistence/atomic.py \
	_core/state.py _core/schema.pyx _core/validation.pyx \
	_estimator/frames.py _estimator/learner.py \
	_estimator/classifier.py _estimator/regressor.py _estimator/parameters.py
# Left out are the tests without memory (the tracer needs some), those of signals (one of which may
# come while the tracer holds its lock), those of rows that need no lock (in this build, they do),
# and long ones that reach nothing of the package alone.
UNTRACED := no_memory or interrupted or never_waits or calibration or benchmarks or examples or notebooks
coverage: export RIVER_EXTRA_TREES_BUILD = coverage
coverage: $(VENV)/installed/test $(VENV)/installed/coverage ## report the Python and Cython lines that the tests reach
	@$(RUN) setup.py --quiet build_ext --inplace
	@$(RUN) tools/compiled_lines.py forget
	@$(RUN) -m pytest -n auto --dist loadgroup --cov --cov-report= -k "not ($(UNTRACED))" $(ARGS)
	@$(RUN) tools/compiled_lines.py collect
	@$(RUN) -m coverage combine --quiet --append
	@$(RUN) -m coverage report --fail-under=95 --show-missing --skip-covered
	@$(RUN) -m coverage report --fail-under=100 --show-missing \
		--include=$$(echo $(WHOLLY_REACHED:%=river_extra_trees/%) | tr " " ,)

machine: build $(VENV)/installed/test ## take 100,000 random steps with each family (STEPS=)
	@RIVER_EXTRA_TREES_STEPS=$(STEPS) $(RUN) -m pytest -n auto tests/estimator/test_machine.py $(ARGS)

mutants: build $(VENV)/installed/test ## plant small faults, each of which a test has to notice (ARGS= names some)
	@$(RUN) tools/mutants.py $(ARGS)

soak: build ## run ten million samples through each family: memory, latency, predictions (SAMPLES=)
	@$(RUN) -m examples.benchmarks.costs soak --samples $(SAMPLES)

BEFORE ?= HEAD~1
before: build
	@test -d build/before || git clone --quiet --shared --no-checkout . build/before
	@git -C build/before checkout --quiet --detach $$(git rev-parse $(BEFORE))
	@cd build/before && $(CURDIR)/$(RUN) setup.py --quiet build_ext --inplace

speed: before ## count instructions; fail if a learner takes 5 % more than in an earlier revision (BEFORE=)
	@$(RUN) -m examples.benchmarks.costs instructions --guard --against build/before $(ARGS)

ratios: before ## times and memory of the default forest beside those of an earlier revision (BEFORE=)
	@$(RUN) -m examples.benchmarks.costs ratios --against build/before $(ARGS)

SECONDS ?= 60
fuzz: build $(VENV)/installed/test $(VENV)/installed/fuzz ## fuzz the loader of model files (SECONDS=600)
	@$(RUN) -m tests.fuzz.model_file build/fuzz -max_total_time=$(SECONDS)

lint: build $(VENV)/installed/lint ## check style, types, generated C, mutants, workflows, paths in texts
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cython-lint river_extra_trees
	@$(RUN) -m mypy
	@$(RUN) -m mypy --platform win32 --cache-dir .mypy_cache/windows
	@$(RUN) tools/lint.py

format: $(VENV)/installed/lint ## bring the Python files into the common style
	@$(RUN) -m ruff format .
	@$(RUN) -m ruff check --fix .

clean: ## remove everything that was made
	@rm -rf $(VENV) build demo dist *.egg-info .pytest_cache .hypothesis .ruff_cache .mypy_cache .coverage
	@find river_extra_trees/_core \( -name "*.c" -o -name "*.so" \) -delete
	@rm -f examples/notebooks/*.ipynb
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
