# Requirements: make, Python 3.11+ and Java 17+. Everything else is installed into .venv.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
LOCKED := $(VENV)/.packages
STAMP := $(VENV)/.installed
CLASSES := $(VENV)/.classes
BIN := $(VENV)/bin
UV_VERSION := 0.13.8
OXLINT_VERSION := 1.94.0
CHARTS := $(filter-out charts/forebay-lib/,$(dir $(wildcard charts/*/Chart.yaml)))
CHART_PACKAGES := dist/charts

.PHONY: help demo test quick long simulate integration slow faults lint lint-console format bench bench-check lock image sbom pin-base charts chart-packages e2e classes java clean docs

help: ## Show these targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) java ## Install the requirements and run everything: broker, registry, producer, job, live view
	@$(BIN)/forebay demo

test: quick long integration ## Run all tests

quick: $(STAMP) ## Run the quick tests in a minute, without broker and Spark
	@echo "== quick tests"
	@$(BIN)/pytest tests -m 'not long' --numprocesses 2

long: $(STAMP) ## Run the tests that take a second or more, such as those of whole commands, without broker and Spark
	@echo "== long tests"
	@$(BIN)/pytest tests -m long --numprocesses 2

PROCESSES := 2

integration: $(CLASSES) java ## Run the tests with a real broker, registry and Spark in PROCESSES parallel processes (4 GB each)
	@echo "== integration tests"
	@$(BIN)/python -m forebay.platform.fetch
	@$(BIN)/pytest integration-tests -m 'not slow' --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder \
	    --durations 20 --durations-min 20

slow: $(CLASSES) java ## Run the integration tests that take minutes and are not part of `make test`
	@$(BIN)/pytest integration-tests -m slow

HOURS := 1

simulate: $(STAMP) ## Run both simulators of tests/runtime/simulator for HOURS, each on one core
	@$(BIN)/python -m tests.runtime.simulator.cluster --first $$(date +%s) --hours $(HOURS) & cluster=$$!; \
	$(BIN)/python -m tests.runtime.simulator --first $$(date +%s) --hours $(HOURS); tasks=$$?; \
	wait $$cluster && exit $$tasks

RUNS := 100
SEED := 1
FAULTS :=

faults: $(CLASSES) java ## Break a job under load RUNS times, with the seeds SEED, SEED+1 ..., and check that its results stay exact
	@$(BIN)/python integration-tests/faults/run.py --runs $(RUNS) --seed $(SEED) $(FAULTS)

lint: $(STAMP) ## Check style, format and types
	@echo "== ruff check"
	@$(BIN)/ruff check .
	@echo "== ruff format --check"
	@$(BIN)/ruff format --check .
	@echo "== mypy --strict"
	@$(BIN)/mypy --strict

lint-console: ## Check the console's JavaScript with oxlint (needs Node.js)
	@npx --yes oxlint@$(OXLINT_VERSION) --deny-warnings services/forebay/console/pages

format: $(STAMP) ## Fix style and format
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

docs: $(STAMP) ## Build the documentation site into dist/site
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

bench: $(CLASSES) java ## Run the benchmarks and print their results
	@$(BIN)/python -m benchmarks

bench-check: $(STAMP) ## Compare the stores' costs with stored ratios, and report costs that have increased
	@$(BIN)/python -m benchmarks.check

BASE :=

image: ## Build the images forebay:dev and forebay-platform:dev with docker, based on BASE if it is set
	@DOCKER_BUILDKIT=1 docker build --target forebay --tag forebay:dev $(if $(BASE),--build-arg BASE=$(BASE)) .
	@DOCKER_BUILDKIT=1 docker build --target platform --tag forebay-platform:dev $(if $(BASE),--build-arg BASE=$(BASE)) .

sbom: ## Write the bills of materials of the images to dist/sbom (CycloneDX)
	@mkdir -p dist/sbom
	@for image in forebay forebay-platform; do \
	    docker run --rm --entrypoint cat "$$image:dev" /usr/share/sbom/image.cdx.json >"dist/sbom/$$image.cdx.json"; \
	done
	@ls dist/sbom/*

TAG := debian:bookworm-slim

pin-base: ## Write the current digest of TAG into the Dockerfile
	@digest="$$(docker buildx imagetools inspect $(TAG) --format '{{.Manifest.Digest}}')"; \
	    sed -i "s|^ARG BASE=.*|ARG BASE=$(TAG)@$$digest|" Dockerfile; grep '^ARG BASE=' Dockerfile

charts: $(STAMP) ## Generate the charts' parts, schemas, READMEs and skaffold.yaml; lint and test all charts with helm
	@PYTHONPATH=services:. $(BIN)/python -m charts.reference
	@for chart in $(CHARTS); do helm dependency update --skip-refresh "$$chart" >/dev/null; done
	@helm lint --quiet charts/forebay charts/forebay-broker charts/forebay-console charts/forebay-engine
	@helm lint --quiet charts/forebay-service --set service=user-sessions
	@helm lint --quiet charts/forebay-producer --set topic=user_activity
	@helm unittest --with-subchart=false $(CHARTS)

chart-packages: ## Package the charts for an OCI registry: helm push $(CHART_PACKAGES)/forebay-0.3.0.tgz oci://registry.example/charts
	@for chart in $(CHARTS); do helm package --dependency-update --destination $(CHART_PACKAGES) "$$chart" >/dev/null; done
	@ls $(CHART_PACKAGES)/*.tgz

KIND_ARGS :=

e2e: $(STAMP) ## Run the tests in a cluster: that of KUBECONFIG (E2E_LOAD: command that loads images), or a new kind cluster
	@if [ -n "$${KUBECONFIG:-}" ]; then \
	    FOREBAY_E2E=1 $(BIN)/pytest integration-tests/cluster $(E2E_ARGS); \
	elif command -v kind >/dev/null; then \
	    export KUBECONFIG="$$(mktemp)"; trap 'kind delete cluster --name forebay-e2e; rm -f "$$KUBECONFIG"' EXIT; \
	    kind create cluster --name forebay-e2e --wait 120s $(KIND_ARGS); \
	    E2E_LOAD="kind load docker-image --name forebay-e2e" FOREBAY_E2E=1 $(BIN)/pytest integration-tests/cluster $(E2E_ARGS); \
	else \
	    echo "error: no cluster: set KUBECONFIG (and E2E_LOAD, the command that loads images), or install kind" >&2; exit 1; \
	fi

lock: $(STAMP) ## Update uv.lock after a change of pyproject.toml
	@$(BIN)/uv lock
	@touch $(LOCKED) $(STAMP)

clean: ## Delete .venv and all generated files, but keep the platform's data (.forebay)
	@rm -rf $(VENV) dist .mypy_cache .pytest_cache .ruff_cache .hypothesis spark-warehouse metastore_db derby.log
	@rm -f services/forebay/*/*.so
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# The exact versions and hashes of the lock, from the package index with which pip is configured.
$(LOCKED): pyproject.toml services/pyproject.toml uv.lock
	@if [ -L $(VENV) ]; then echo "error: $(VENV) is a link, what it points to would be emptied: delete the link" >&2; exit 1; fi
	@least=; mapfile -t found < <(type -ap python3 python3.13 python3.12 python3.11 | awk '!seen[$$0]++'); \
	for candidate in $(if $(PYTHON),"$(PYTHON)","$${found[@]}"); do \
	    took="$$("$$candidate" benchmarks/python_speed.py 2>/dev/null)" || continue; \
	    if [ -z "$$least" ] || [ $$((took * 115)) -lt $$((least * 100)) ]; then python="$$candidate" least="$$took"; fi; \
	done; \
	if [ -z "$$least" ]; then \
	    echo "error: no Python 3.11 or newer that can make a virtual environment $(if $(PYTHON),at $(PYTHON),on PATH) (python3 is $$(python3 --version 2>&1 || true)): install one (Debian, Ubuntu: apt install python3-venv), or make PYTHON=/path/to/python" >&2; exit 1; \
	fi; \
	echo "== installing into $(VENV) with $$("$$python" --version), $$python$(if $(PYTHON),,: the fastest on PATH, make PYTHON=/path/to/python takes another)"; \
	"$$python" -m venv --clear $(VENV) || { \
	    echo "error: $$python can't make a virtual environment: install its venv module (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(BIN)/uv export --quiet --frozen --all-packages --no-emit-workspace --no-header --no-annotate --output-file $(VENV)/requirements.txt
	@echo "== downloading and installing $$(grep -c '==' $(VENV)/requirements.txt) packages (pyspark is 450 MB; this takes a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --use-pep517 --require-hashes -r $(VENV)/requirements.txt
	@touch $@

# Build native code with the system's compiler, or with one from the package index (see hatch_build.py).
# Compile to bytecode, as an installation does: with PYTHONDONTWRITEBYTECODE, each process of a job would compile again.
$(STAMP): $(LOCKED) hatch_build.py services/pyproject.toml services/forebay/serde/native.pyx services/forebay/stores/native.pyx
	@if [ -n "$$($(BIN)/python -c 'import hatch_build; print(*hatch_build.compiler_packages())')" ]; then \
	    echo "== there is no C compiler: fetching one (100 MB)"; \
	    $(BIN)/uv export --quiet --frozen --only-group compiler --no-header --no-annotate --output-file $(VENV)/compiler.txt; \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r $(VENV)/compiler.txt; \
	fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . --editable services
	@$(BIN)/python -c 'from forebay.utils.native import missing; import forebay.serde.extension, forebay.stores.ordered; print("== warning:", missing()) if missing() else None'
	@$(BIN)/python -m compileall -q services producers
	@touch $@

# Optional: an archive of the classes that Spark loads, which halves the work of starting its JVM.
$(CLASSES): $(STAMP)
	@$(BIN)/python -m forebay.runtime.driver.class_archive || echo "== Spark starts without it"
	@touch $@

classes: $(CLASSES) ## Make Spark start faster (half a minute once, 180 MB)

java: $(STAMP)
	@$(BIN)/python -c 'from forebay.platform.java import main; main()'
