# Every target installs what it needs; the only prerequisites are Python 3.11+ and git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WORKERS ?= auto
# The tests start hundreds of processes: with this variable set, each would compile Assay again.
unexport PYTHONDONTWRITEBYTECODE
# A real peer for the adapter tests, in a separate environment because its dependencies differ from ours.
SEMBLE := semble[mcp]==0.7.0
# Contains the axe-core script; installed without its Playwright driver, which is not used.
AXE := axe-playwright-python==0.1.8

.PHONY: demo test check contracts nightly soak attacks bench fix docs site dist clean

demo: $(VENV)/.installed  ## measure the shipped engines on the Python standard library
	$(BIN)/assay demo

test: $(VENV)/.developed  ## lint, types and all deterministic tests, in minutes
	@$(MAKE) --no-print-directory --jobs 2 check $(VENV)/.peers $(VENV)/.browser  # one computes, the others download
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: $(VENV)/.developed  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

contracts: $(VENV)/.developed  ## re-record the contract files and show what changed
	rm -rf $(VENV)/contracts
	ASSAY_RECORD=1 ASSAY_RECORDED=$(CURDIR)/$(VENV)/contracts $(BIN)/python -m pytest -n $(WORKERS) tests/contracts
	rm -rf tests/contracts/recorded && mv $(VENV)/contracts tests/contracts/recorded
	@git --no-pager diff -- tests/contracts/recorded | head -n 300
	@git --no-pager diff --stat -- tests/contracts/recorded
	@git ls-files --others --exclude-standard -- tests/contracts/recorded

nightly: $(VENV)/.developed $(VENV)/.peers $(VENV)/.browser  ## full browser, documentation, peer, cluster and action tests
	$(BIN)/python -m pytest -m nightly -n $(WORKERS) --dist worksteal

soak: $(VENV)/.developed $(VENV)/.peers $(VENV)/.browser  ## long simulations, many kills, time and memory bounds, mutants, attacks
	$(BIN)/python -m pytest -m "soak or hypothesis" --hypothesis-profile soak -n $(WORKERS) --dist worksteal \
	  --ignore tests/attacks
	$(BIN)/python -m tests.mutate
	@$(MAKE) --no-print-directory attacks

attacks: $(VENV)/.developed  ## attacks from outside (part of soak); ends with a table of tries and failures
	$(BIN)/python -m pytest -m soak -n $(WORKERS) --dist worksteal tests/attacks

bench: $(VENV)/.developed  ## compare Assay with its peers; writes benchmarks/RESULTS.md
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks

fix: $(VENV)/.developed  ## format and apply automatic fixes
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.developed  ## generate the reference pages in docs/
	$(BIN)/python -m docs.generate

site: $(VENV)/.developed  ## build the documentation site into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

dist: $(VENV)/.installed  ## build sdist and wheel into dist/, check them, and use the wheel in a clean environment
	rm -rf dist
	$(PYTHON) -m venv --clear $(VENV)/release
	$(PIP) --python $(VENV)/release/bin/python install --quiet build twine check-wheel-contents
	$(VENV)/release/bin/python -m build --outdir dist .
	$(VENV)/release/bin/twine check --strict dist/*
	$(VENV)/release/bin/check-wheel-contents dist/*.whl
	$(PYTHON) -m venv --clear $(VENV)/clean
	$(PIP) --python $(VENV)/clean/bin/python install --quiet dist/*.whl
	mkdir $(VENV)/clean/shop && printf 'def total(items):\n    return sum(items)\n' > $(VENV)/clean/shop/cart.py
	cd $(VENV)/clean && bin/assay --version && bin/assay search "where are items summed" shop

clean:
	rm -rf $(VENV) site dist demo-results .mypy_cache .ruff_cache .hypothesis

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Assay needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && { apt-get install -qq -y python3-venv || { apt-get update -qq && apt-get install -qq -y python3-venv; }; } \
	     >/dev/null 2>&1; } || true
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) cannot create virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --editable .
	@touch $@

$(VENV)/.developed: $(VENV)/.installed
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	$(PIP) install --quiet --group dev
	@$(PIP) install --quiet --only-binary :all: ripgrep 2>/dev/null \
	  || echo "no ripgrep wheel for this platform: tests of that backend will be skipped" >&2
	@touch $@

# A failed installation is not an error: tests that need the peer are skipped, and the next `make test` retries.
$(VENV)/.peers: $(VENV)/.developed Makefile
	@$(PYTHON) -m venv --clear --without-pip $(VENV)/peers/semble \
	  && $(PIP) --python $(VENV)/peers/semble/bin/python install --quiet '$(SEMBLE)' && touch $@ \
	  || { rm -rf $(VENV)/peers/semble; echo "!! $(SEMBLE) cannot be installed: its tests will be skipped" >&2; }

# Debian's Chromium and its driver, if they can be installed; otherwise the browser tests are skipped.
$(VENV)/.browser: $(VENV)/.developed Makefile
	@$(PIP) install --quiet --no-deps $(AXE) || echo "!! $(AXE) cannot be installed: accessibility tests will be skipped" >&2
	@command -v chromedriver >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && { apt-get install -qq -y chromium chromium-driver || { apt-get update -qq && apt-get install -qq -y chromium chromium-driver; }; } \
	     >$(VENV)/browser.log 2>&1; } || true
	@command -v chromedriver >/dev/null && touch $@ \
	  || echo "!! no chromedriver (apt-get install chromium chromium-driver): tests/browser will be skipped" >&2
