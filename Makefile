# Needs make, Python 3.11+ and Java 17+; everything else goes into .venv.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
STAMP := $(VENV)/.installed
BIN := $(VENV)/bin
UV_VERSION := 0.13.8
SOURCES := services producers

.PHONY: help demo test quick integration lint format bench lock java clean

help: ## Show these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) java ## Install what is needed and run everything: broker, registry, producer, job, live view
	@$(BIN)/forebay demo

test: quick integration ## Run all tests

quick: $(STAMP) ## Run the quick tests: no broker, no Spark
	@echo "== quick tests"
	@$(BIN)/pytest tests

integration: $(STAMP) java ## Run the tests against a real broker, registry and Spark
	@echo "== integration tests"
	@$(BIN)/pytest integration-tests

lint: $(STAMP) ## Check style, format and types
	@echo "== ruff check"
	@$(BIN)/ruff check .
	@echo "== ruff format --check"
	@$(BIN)/ruff format --check .
	@echo "== mypy --strict"
	@$(BIN)/mypy --strict $(SOURCES)

format: $(STAMP) ## Repair style and format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(STAMP) java ## Run the benchmarks and print their figures
	@$(BIN)/python -m benchmarks

lock: $(STAMP) ## Write uv.lock anew after pyproject.toml has changed
	@$(BIN)/uv lock
	@touch $(STAMP)

clean: ## Delete .venv and everything generated; the platform's data (.forebay) stays
	@rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# The lock's exact versions and hashes, from whichever package index pip is configured with.
$(STAMP): pyproject.toml uv.lock
	@set +e; for candidate in $(PYTHON) python3 python3.13 python3.12 python3.11; do \
	    "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && python="$$candidate" && break; \
	done; set -e; \
	if [ -z "$${python:-}" ]; then \
	    echo "error: no Python 3.11 or newer on PATH (python3 is $$(python3 --version 2>&1 || true)): install one, or make PYTHON=/path/to/python" >&2; exit 1; \
	fi; \
	echo "== installing into $(VENV) with $$("$$python" --version)"; \
	"$$python" -m venv --clear $(VENV) || { \
	    echo "error: $$python can't make a virtual environment: install its venv module (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(BIN)/uv export --quiet --frozen --no-emit-project --no-header --no-annotate --output-file $(VENV)/requirements.txt
	@echo "== downloading and installing $$(grep -c '==' $(VENV)/requirements.txt) packages (pyspark is 450 MB; this takes a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --use-pep517 --require-hashes -r $(VENV)/requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

java: $(STAMP)
	@$(BIN)/python -c 'from forebay.platform.java import main; main()'
