# Every target makes the virtual environment it needs; only Python (3.11 or newer, with venv) and a
# C++ compiler have to be there. CMake and Ninja come from pip where the system has none.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2

BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := $(wildcard CMakeLists.txt cpp/*.* cpp/*/*.*)

CORE_TESTS := $(wildcard tests/test_core*.py tests/test_engine*.py)

.PHONY: help demo test bench lint docs sanitize paper-quick clean

help:
	@echo "make demo         small trees beside scikit-learn's models, on data that needs no download"
	@echo "make test         all tests"
	@echo "make bench        how fast the core is, and how far from what the processor can do"
	@echo "make lint         ruff and mypy"
	@echo "make docs         the documentation, into docs/_build/html"
	@echo "make sanitize     the core's tests under AddressSanitizer and UBSan"
	@echo "make paper-quick  a small part of the paper's tables, computed again"
	@echo "make clean        remove everything that make made, the environment included"

# Editable, so that changes to Python files need no reinstall; changes to the core do.
$(VENV)/.core: pyproject.toml $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	@touch $@

# The packages of an extra alone; asking pip for ".[test]" would compile the core once more.
EXTRA = import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
        print(*project["optional-dependencies"][sys.argv[1]])
$(VENV)/.with-%: $(VENV)/.core
	$(PIP) $$($(BIN)/python -c '$(EXTRA)' $*)
	@touch $@

demo: $(VENV)/.core
	$(BIN)/bneuralt demo

# The extras are tested too, with the real libraries.
test: $(VENV)/.with-test $(VENV)/.with-paper $(VENV)/.with-dask
	$(BIN)/python -m pytest -n $(JOBS)

bench: $(VENV)/.core
	$(BIN)/python -m benchmarks

lint: $(VENV)/.with-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.with-docs
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The package with an instrumented core goes to a folder of its own. The base interpreter is used,
# with the environment's packages on the path, since an editable install would come first otherwise.
# libstdc++ is loaded at the start too: the sanitizer has to see it to follow exceptions.
SAN := build/sanitize
sanitize: $(VENV)/.with-test
	rm -rf $(SAN)/site
	$(PIP) --no-deps --target $(SAN)/site . \
	    --config-settings=build-dir=$(SAN)/cmake \
	    --config-settings=cmake.define.BNEURALT_SANITIZE=ON \
	    --config-settings=install.strip=false
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 \
	PYTHONPATH="$(SAN)/site:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	"$$($(BIN)/python -c 'import sys; print(sys._base_executable)')" -s \
	    -m pytest -q -p no:cacheprovider $(CORE_TESTS)

PAPER := build/paper-quick
paper-quick: $(VENV)/.with-paper
	rm -rf $(PAPER) && mkdir -p $(PAPER)
	$(BIN)/bneuralt paper run --quick --quiet --store $(PAPER)/runs.sqlite
	$(BIN)/bneuralt paper report --store $(PAPER)/runs.sqlite --out $(PAPER)/report

clean:
	rm -rf $(VENV) build dist docs/_build docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f src/bneuralt/*.so
