# Every target works on a fresh machine with Python 3.11+, a C compiler and make, and
# does again only what has changed.

PYTHON ?= python3
JOBS ?= 2
VENV = .venv
OLDEST = .venv-oldest
CHECKED = .venv-boundscheck
SANITIZED = .venv-sanitize
THREADS = .venv-threads
INTEROP = .venv-interop
INTEROP_EXTRAS ?= interop ray
CASES ?= 20000
PIP_FLAGS = --quiet --disable-pip-version-check

KERNELS = $(shell find sklearn_bandit -name '*.pyx' -o -name "*.pxd" -o -name "*.h")
SOURCES = $(KERNELS) $(shell find sklearn_bandit -name '*.py')
BUILD_FILES = setup.py pyproject.toml

# scikit-learn's tests of the estimators that have the same name here.
BOOSTING_TESTS = sklearn.ensemble._hist_gradient_boosting.tests
SCIKIT_LEARN_TESTS = sklearn.tree.tests.test_tree sklearn.tree.tests.test_export \
    sklearn.tree.tests.test_monotonic_tree sklearn.ensemble.tests.test_forest \
    $(BOOSTING_TESTS).test_gradient_boosting sklearn.linear_model.tests.test_omp

# Each test process has a core of its own.
PYTEST_ENV = OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=1

# Sanitizers must be loaded before Python; libstdc++ before they look for exceptions.
# Python's own allocator would hide what is done to small objects.
PRELOAD = $(shell gcc -print-file-name=lib$(1).so):$(shell gcc -print-file-name=libstdc++.so.6)
SANITIZE_ENV = LD_PRELOAD=$(call PRELOAD,asan) PYTHONMALLOC=malloc \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
    UBSAN_OPTIONS=print_stacktrace=1
THREADS_ENV = LD_PRELOAD=$(call PRELOAD,tsan):$(CURDIR)/$(THREADS)/openmp_threads.so \
    TSAN_OPTIONS="halt_on_error=1 exitcode=66 die_after_fork=0 \
    ignore_noninstrumented_modules=1" \
    SKLEARN_BANDIT_STRESS=2 SKLEARN_BANDIT_STRESS_THREADS=2

.PHONY: help demo test test-slow test-oldest test-scikit-learn test-interop \
    test-boundscheck test-sanitize test-threads fuzz coverage lint format docs docs-links \
    bench bench-report bench-thesis bench-history dist clean

help:
	@echo "make demo              what the package wins over scikit-learn, in a minute"
	@echo "make test              the tests"
	@echo "make test-oldest       the tests, oldest supported scikit-learn and numpy"
	@echo "make test-scikit-learn scikit-learn's own tests, on the estimators of this package"
	@echo "make test-interop      other packages that take these estimators: shap, skops, ..."
	@echo "make test-boundscheck  the tests, bounds checks compiled into the kernels"
	@echo "make test-sanitize     the tests, address and undefined-behaviour sanitizers"
	@echo "make test-threads      threads that share estimators, ThreadSanitizer"
	@echo "make test-slow         what takes minutes: memory over many fits"
	@echo "make fuzz CASES=...    so many random cases, failures in build/fuzz"
	@echo "make coverage          which Python lines the tests run, at least 95%"
	@echo "make lint              what pre-commit runs (ruff, cython-lint, codespell), and mypy"
	@echo "make format            let ruff mend what it can"
	@echo "make docs              HTML documentation in doc/_build/html, links inside checked"
	@echo "make docs-links        whether the links that lead outside lead somewhere"
	@echo "make bench NAME=...    a named benchmark; without NAME, the list"
	@echo "make bench-report NAMES=... measure, and store for the documentation"
	@echo "make bench-thesis      the thesis's tables and figures, measured again and stored"
	@echo "make bench-history     small tasks beside their last entry, and append them"
	@echo "make dist              sdist and wheel, tested in a clean environment"
	@echo "make clean             remove everything that was built"

# -- environments ---------------------------------------------------------------------

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install $(PIP_FLAGS) --upgrade pip

$(VENV)/.installed: $(VENV)/bin/python $(BUILD_FILES)
	$(VENV)/bin/python .ci/requirements.py build > $(VENV)/build.txt
	$(VENV)/bin/pip install $(PIP_FLAGS) -r $(VENV)/build.txt
	$(VENV)/bin/pip install $(PIP_FLAGS) --no-build-isolation --editable .
	touch $@ $(VENV)/.built

# A fresh installation has built everything already.
$(VENV)/.built: $(VENV)/.installed $(KERNELS)
	@test -e $@ && test -z "$$(find $(KERNELS) -newer $@)" \
	    || $(VENV)/bin/python setup.py --quiet build_ext --inplace
	touch $@

$(VENV)/.extra-%: $(VENV)/.installed
	$(VENV)/bin/python .ci/requirements.py project $* > $(VENV)/$*.txt
	$(VENV)/bin/pip install $(PIP_FLAGS) -r $(VENV)/$*.txt
	touch $@

$(VENV)/.lint: $(VENV)/bin/python pyproject.toml
	$(VENV)/bin/python .ci/requirements.py lint > $(VENV)/lint.txt
	$(VENV)/bin/pip install $(PIP_FLAGS) -r $(VENV)/lint.txt
	touch $@

# The kernels use no C interface of numpy or scikit-learn: what was built with the newest
# versions must load with the oldest, so that is what is tested.
$(OLDEST)/.installed: $(BUILD_FILES) .ci/oldest.txt
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python .ci/requirements.py project tests > $(OLDEST)/tests.txt
	$(OLDEST)/bin/pip install $(PIP_FLAGS) -c .ci/oldest.txt -r $(OLDEST)/tests.txt
	$(OLDEST)/bin/python -c "import pathlib, site; pathlib.Path( \
	    site.getsitepackages()[0], 'sklearn_bandit.pth').write_text('$(CURDIR)')"
	touch $@

# Packages that have requirements of their own are kept apart.
$(INTEROP)/.installed: $(BUILD_FILES)
	test -x $(INTEROP)/bin/python || $(PYTHON) -m venv $(INTEROP)
	$(INTEROP)/bin/python .ci/requirements.py project $(INTEROP_EXTRAS) \
	    > $(INTEROP)/interop.txt
	$(INTEROP)/bin/pip install $(PIP_FLAGS) -r $(INTEROP)/interop.txt
	$(INTEROP)/bin/python -c "import pathlib, site; pathlib.Path( \
	    site.getsitepackages()[0], 'sklearn_bandit.pth').write_text('$(CURDIR)')"
	touch $@

$(CHECKED)/.installed: $(BUILD_FILES) $(SOURCES)
	test -x $(CHECKED)/bin/python || $(PYTHON) -m venv $(CHECKED)
	$(CHECKED)/bin/python .ci/requirements.py project tests > $(CHECKED)/tests.txt
	$(CHECKED)/bin/pip install $(PIP_FLAGS) -r $(CHECKED)/tests.txt
	SKLEARN_BANDIT_BOUNDSCHECK=1 \
	    $(CHECKED)/bin/pip install $(PIP_FLAGS) --no-deps --force-reinstall .
	touch $@

$(SANITIZED)/.installed: $(BUILD_FILES) $(SOURCES)
	test -x $(SANITIZED)/bin/python || $(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python .ci/requirements.py project tests > $(SANITIZED)/tests.txt
	$(SANITIZED)/bin/pip install $(PIP_FLAGS) -r $(SANITIZED)/tests.txt
	SKLEARN_BANDIT_SANITIZE=address,undefined \
	    $(SANITIZED)/bin/pip install $(PIP_FLAGS) --no-deps --force-reinstall .
	touch $@

$(THREADS)/.installed: $(BUILD_FILES) $(SOURCES)
	test -x $(THREADS)/bin/python || $(PYTHON) -m venv $(THREADS)
	$(THREADS)/bin/python .ci/requirements.py project tests > $(THREADS)/tests.txt
	$(THREADS)/bin/pip install $(PIP_FLAGS) -r $(THREADS)/tests.txt
	SKLEARN_BANDIT_SANITIZE=thread \
	    $(THREADS)/bin/pip install $(PIP_FLAGS) --no-deps --force-reinstall .
	touch $@

$(THREADS)/openmp_threads.so: tests/threads/openmp_threads.c tests/threads/libgomp.map \
    $(THREADS)/.installed
	gcc -O1 -g -fPIC -shared -pthread -fsanitize=thread $< -o $@ \
	    -Wl,--version-script=tests/threads/libgomp.map

# -- what people run ------------------------------------------------------------------

demo: $(VENV)/.built
	$(VENV)/bin/python -m sklearn_bandit.demo

test: $(VENV)/.built $(VENV)/.extra-tests $(VENV)/.extra-dask
	$(PYTEST_ENV) $(VENV)/bin/pytest -n $(JOBS) -m 'not slow' $(ARGS)
	$(VENV)/bin/pytest --doctest-modules --doctest-glob='*.rst' sklearn_bandit \
	    doc/quick_start.rst doc/user_guide

test-oldest: $(VENV)/.built $(OLDEST)/.installed
	$(PYTEST_ENV) $(OLDEST)/bin/pytest -n $(JOBS) -m 'not slow' $(ARGS)

# The plugin replaces scikit-learn's estimators; its warnings are not ours. It is found by
# its folder: some packages install a `tests` of their own.
test-scikit-learn: $(VENV)/.built $(VENV)/.extra-tests
	$(PYTEST_ENV) PYTHONPATH=$(CURDIR)/tests/scikit_learn \
	    $(VENV)/bin/python -m pytest -n $(JOBS) -p plugin \
	    -W ignore --tb=short --pyargs $(SCIKIT_LEARN_TESTS) $(ARGS)

# The table is that of the user guide.
test-interop: $(VENV)/.built $(INTEROP)/.installed
	SKLEARN_BANDIT_INTEROP=doc/user_guide/interoperability.csv \
	    $(INTEROP)/bin/pytest -W ignore tests/interop $(ARGS)

test-boundscheck: $(CHECKED)/.installed
	$(PYTEST_ENV) $(CHECKED)/bin/pytest -n $(JOBS) -m 'not slow' $(ARGS)

test-sanitize: $(SANITIZED)/.installed
	$(PYTEST_ENV) $(SANITIZE_ENV) $(SANITIZED)/bin/pytest -n $(JOBS) -m 'not slow' $(ARGS)

test-threads: $(THREADS)/.installed $(THREADS)/openmp_threads.so
	$(PYTEST_ENV) $(THREADS_ENV) $(THREADS)/bin/pytest tests/threads $(ARGS)

test-slow: $(VENV)/.built $(VENV)/.extra-tests
	$(PYTEST_ENV) $(VENV)/bin/pytest -n $(JOBS) -m slow $(ARGS)

fuzz: $(VENV)/.built $(VENV)/.extra-tests
	rm -rf build/fuzz
	$(PYTEST_ENV) SKLEARN_BANDIT_FUZZ=$(CASES) $(VENV)/bin/pytest -n $(JOBS) tests/fuzz $(ARGS)

coverage: $(VENV)/.built $(VENV)/.extra-tests $(VENV)/.extra-dask
	$(PYTEST_ENV) $(VENV)/bin/pytest -n $(JOBS) -m 'not slow' --cov \
	    --cov-report=term-missing:skip-covered --cov-report=xml $(ARGS)

lint: $(VENV)/.lint
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" pre-commit run --all-files
	$(VENV)/bin/mypy

format: $(VENV)/.lint
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# Links inside the site need no network.
docs: $(VENV)/.built $(VENV)/.extra-docs $(VENV)/.extra-dask
	$(VENV)/bin/sphinx-build -n -W --keep-going -b html doc doc/_build/html
	$(VENV)/bin/python .ci/inside_links.py doc/_build/html

# Those that lead outside; the gallery is not run again.
docs-links: docs
	$(VENV)/bin/sphinx-build -b linkcheck -D plot_gallery=0 doc doc/_build/linkcheck

bench: $(VENV)/.built $(VENV)/.extra-bench $(VENV)/.extra-dask
	$(VENV)/bin/python -m benchmarks $(NAME) $(ARGS)

bench-report: $(VENV)/.built $(VENV)/.extra-bench
	$(VENV)/bin/python -m benchmarks.report $(NAMES) $(ARGS)

# Counts and scores do not mind what else runs; times do, and say so on the page.
bench-thesis: $(VENV)/.built $(VENV)/.extra-bench
	$(VENV)/bin/python -m benchmarks.report 'thesis.*' --force $(ARGS)

bench-history: $(VENV)/.built
	$(VENV)/bin/python -m benchmarks.history $(ARGS)

# What is tested is the wheel, out of reach of this folder's sources. There is one wheel
# for each version of Python: the kernels do not use the stable interface.
dist: $(VENV)/bin/python
	$(VENV)/bin/pip install $(PIP_FLAGS) build
	rm -rf dist .venv-dist build/dist
	$(VENV)/bin/python -m build --outdir dist
	test -n "$$(find dist -name '*.whl' -size -6000k)"  # debug symbols would be 50 MB
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/pip install $(PIP_FLAGS) "$$(ls dist/*.whl)[tests]"
	cd / && $(CURDIR)/.venv-dist/bin/python -c \
	    "import sklearn_bandit; sklearn_bandit.show_versions()"
	mkdir -p build/dist && cp -r .ci tests pyproject.toml build/dist
	cd build/dist && $(PYTEST_ENV) $(CURDIR)/.venv-dist/bin/pytest -n $(JOBS) \
	    -m 'not slow' $(ARGS)

clean:
	rm -rf $(VENV) $(OLDEST) $(INTEROP) $(CHECKED) $(SANITIZED) $(THREADS) .venv-dist \
	    build dist *.egg-info doc/_build doc/auto_examples doc/api/generated \
	    doc/api/backreferences doc/generated_figures
	find sklearn_bandit \( -name '*.so' -o -name '*.pyd' -o -name '*.c' \) -delete
