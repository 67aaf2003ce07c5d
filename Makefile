# Everything sets itself up: Python 3.11+ and git are all a machine needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
WORKERS ?= auto
# Hundreds of processes start in the tests: none of them compiles Assay again because the machine's settings say so.
unexport PYTHONDONTWRITEBYTECODE
# A real peer that the adapters are tested on, in an environment of its own: its packages are not ours.
SEMBLE := semble[mcp]==0.7.0
# The script of axe-core, which a package for another driver brings: that driver is not needed.
AXE := axe-playwright-python==0.1.8

.PHONY: demo test check contracts nightly soak bench fix docs site clean

demo: $(VENV)/.installed  ## measure the shipped engines on the Python standard library
	$(BIN)/assay demo

test: $(VENV)/.developed  ## everything that must hold, in minutes
	@$(MAKE) --no-print-directory --jobs 2 check $(VENV)/.peers $(VENV)/.browser  # one computes, the others download
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: $(VENV)/.developed  ## lint, format, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

contracts: $(VENV)/.developed  ## record the contract files again and show what changed
	rm -rf tests/contracts/recorded
	ASSAY_RECORD=1 $(BIN)/python -m pytest -n $(WORKERS) tests/contracts
	@git --no-pager diff --stat -- tests/contracts/recorded
	@git ls-files --others --exclude-standard -- tests/contracts/recorded

nightly: $(VENV)/.developed $(VENV)/.peers $(VENV)/.browser  ## the full browser, documentation, peer, cluster and action sets
	$(BIN)/python -m pytest -m nightly -n $(WORKERS) --dist worksteal

soak: $(VENV)/.developed $(VENV)/.peers $(VENV)/.browser  ## long simulations, many kills, bounds on time and memory, mutants
	$(BIN)/python -m pytest -m "soak or hypothesis" --hypothesis-profile soak -n $(WORKERS) --dist worksteal
	$(BIN)/python -m tests.mutate

bench: $(VENV)/.developed  ## Assay beside its peers, in one run; writes benchmarks/RESULTS.md
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks

fix: $(VENV)/.developed  ## format, and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.developed  ## write the reference pages in docs/ from the program
	$(BIN)/python -m docs.generate

site: $(VENV)/.developed  ## the documentation site, into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

clean:
	rm -rf $(VENV) site demo-results .mypy_cache .ruff_cache .hypothesis

$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Assay needs Python 3.11 or newer; say which one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && { apt-get install -qq -y python3-venv || { apt-get update -qq && apt-get install -qq -y python3-venv; }; } \
	     >/dev/null 2>&1; } || true
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo "$(PYTHON) makes no environments here; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --editable .
	@touch $@

$(VENV)/.developed: $(VENV)/.installed
	$(PIP) install --quiet --upgrade 'pip>=25.1'
	$(PIP) install --quiet --group dev
	@$(PIP) install --quiet --only-binary :all: ripgrep 2>/dev/null \
	  || echo "no ripgrep wheel for this machine: the tests of that backend will skip and say so" >&2
	@touch $@

# Not there is no failure: what needs the peer skips and says so, and the next `make test` tries again.
$(VENV)/.peers: $(VENV)/.developed Makefile
	@$(PYTHON) -m venv --clear --without-pip $(VENV)/peers/semble \
	  && $(PIP) --python $(VENV)/peers/semble/bin/python install --quiet '$(SEMBLE)' && touch $@ \
	  || { rm -rf $(VENV)/peers/semble; echo "!! $(SEMBLE) cannot be installed here: tests/peers will skip it" >&2; }

# Debian's browser and its driver, where we may install them; else the browser tests skip and say so.
$(VENV)/.browser: $(VENV)/.developed Makefile
	@$(PIP) install --quiet --no-deps $(AXE) || echo "!! no $(AXE): the tests of accessibility will skip" >&2
	@command -v chromedriver >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && { apt-get install -qq -y chromium chromium-driver || { apt-get update -qq && apt-get install -qq -y chromium chromium-driver; }; } \
	     >$(VENV)/browser.log 2>&1; } || true
	@command -v chromedriver >/dev/null && touch $@ \
	  || echo "!! no chromedriver here (apt-get install chromium chromium-driver): tests/browser will skip" >&2
