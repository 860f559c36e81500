# Every target makes the environment that it needs; `.ci/preflight` says what is missing for it.
# Needs Python 3.11 or newer with venv, and a C++20 compiler; pip installs CMake and Ninja where the
# system has none. Rare targets, such as those of releases, are in dev.mk: `make help-dev`.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2

BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS)
SOURCES := CMakeLists.txt $(shell find cpp -type f)
PAPER_SOURCES := paper/CMakeLists.txt $(shell find paper/cpp -type f)
CXX_FILES := $(shell find cpp paper/cpp benchmarks -name '*.hpp' -o -name '*.cpp')

# Without bytecode, every process of a test would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test-quick test lint format docs playground bench clean

help:
	@echo "make demo         compare trees with scikit-learn models and draw a small one"
	@echo "make test-quick   run the tests that need no browser, compiler, database or cluster"
	@echo "make test         run all tests (JOBS=2 processes)"
	@echo "make lint         check with ruff, mypy, import-linter and clang-format"
	@echo "make format       format Python and C++ files"
	@echo "make docs         build the documentation in docs/_build/html"
	@echo "make playground   write build/playground.html, a page that trains in the browser"
	@echo "make bench        measure the speed of the core and compare it with the hardware limit"
	@echo "make clean        remove everything make has created, including the environment"
	@echo "make help-dev     list the rare targets: sanitizers, wheels, fuzzers, mutants, ..."

# Editable: changes to Python files need no reinstall. Changes to the core or to the version do,
# and the version is read from __init__.py.
$(VENV)/.core: pyproject.toml src/bneuralt/__init__.py $(SOURCES)
	@.ci/preflight $(PYTHON) $(VENV)
	@test -x $(BIN)/python || { echo "Creating a virtual environment in $(VENV): some seconds"; \
	    $(PYTHON) -m venv $(VENV); }
	@echo "Compiling the core and installing it with NumPy, SciPy and scikit-learn:"
	@echo "about a minute on two cores; a dot stands for five seconds"
	@start=$$(date +%s); (while sleep 5; do printf .; done) & dots=$$!; trap "kill $$dots" EXIT; \
	$(PIP) --editable . && echo " installed in $$(($$(date +%s) - start)) s"
	@touch $@

# The reproduction of the paper; its kernel is compiled with headers of the core.
$(VENV)/.paper: $(VENV)/.core paper/pyproject.toml paper/src/bneuralt_paper/__init__.py $(PAPER_SOURCES)
	$(PIP) --editable ./paper
	@touch $@

# Only the packages of an extra: installing ".[test]" would compile the core again. What cannot be
# had is named, and its tests are skipped.
$(VENV)/.with-%: $(VENV)/.core
	$(BIN)/python .ci/extras.py install $* -- $(PIP_OPTIONS)
	@touch $@

demo: $(VENV)/.core
	@mkdir -p build
	@echo "Comparing models and drawing a tree: less than 10 s"
	@echo
	@$(BIN)/bneuralt demo --out build/demo.html

# Markers follow from what a test uses: tests/helpers/needs.py.
test-quick: $(VENV)/.paper $(VENV)/.with-test
	$(BIN)/python -m pytest -q -n $(JOBS) --quick --refuse-slow $(TESTS)

# Includes the tests of the optional dependencies, so these are installed too.
EXTRAS   := test dask onnx river
TEST_ENV := $(VENV)/.paper $(addprefix $(VENV)/.with-,$(EXTRAS))
test: $(TEST_ENV)
	$(BIN)/python -m pytest -n $(JOBS) --processor-times 20 $(TESTS)

lint: $(VENV)/.with-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PYTHONPATH=src:paper/src $(BIN)/lint-imports --no-cache
	$(BIN)/clang-format --dry-run --Werror $(CXX_FILES)

format: $(VENV)/.with-lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CXX_FILES)

# PyPI's ziglang compiles the kernels for WebAssembly: a minute of processor time, once.
playground: $(VENV)/.core $(VENV)/.with-cross
	$(BIN)/python -m playground.build build/playground.html

# All pages are read each time (-E): otherwise Sphinx forgets the search words of unchanged ones.
docs: $(VENV)/.paper $(VENV)/.with-docs playground
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

bench: $(VENV)/.core
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build paper/build dist docs/_build docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f src/bneuralt/*.so paper/src/bneuralt_paper/*.so

include dev.mk
