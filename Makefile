# Targets for people. Everything that they need is put into .venv and .tools, nothing elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes

.PHONY: help build run test test-rust test-python clients durability postgres bench load lint fmt proto vectors \
	fixtures lock clean

help: ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/.runtime: requirements/runtime.txt requirements/build.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "steelyard needs Python 3.11 or newer; name one with make PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) -r requirements/runtime.txt -r requirements/build.txt
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	$(PIP) -r requirements/dev.txt
	@touch $@

build: $(VENV)/.runtime ## Build the Rust core and install the package into .venv
	@command -v cargo >/dev/null || { echo "steelyard needs a Rust toolchain (cargo)" >&2; exit 1; }
	@VIRTUAL_ENV=$(abspath $(VENV)) PIP_QUIET=1 $(BIN)/maturin develop --release --locked --quiet

run: build ## Start the service on 127.0.0.1:50051 and show a first answer
	$(BIN)/steelyard demo

test: test-rust test-python ## Run all tests

test-rust:
	cargo test --release --locked --workspace --exclude steelyard-py --quiet

test-python: build $(VENV)/.dev
	$(BIN)/python -m pytest

clients: build $(VENV)/.dev ## Build and run the clients of all five languages, print one table
	$(BIN)/python tests/clients/run.py

durability: build $(VENV)/.dev ## Kill the server every two seconds for a minute, on both stores
	STEELYARD_DURABILITY_SECONDS=60 $(BIN)/python -m pytest tests/integration/records/test_records_durability.py

postgres: $(VENV)/.dev ## Install PostgreSQL's server for the tests (root and apt), unless it is there
	$(BIN)/python -m tests.support.postgres install

bench: build $(VENV)/.dev ## Run the benchmarks; benches/README.md explains them
	cargo bench --locked --package steelyard-benches
	$(BIN)/python -m pytest benches/python --benchmark-only

load: build $(VENV)/.dev ## Load the service and its peers, print one table (under 15 minutes)
	$(BIN)/python benches/load/run.py

lint: build $(VENV)/.dev ## Check style, types, layers, stubs and protos
	cargo fmt --check
	cargo clippy --release --locked --workspace --all-targets --quiet -- -D warnings
	@if cargo tree --locked --package steelyard-core --edges normal | grep -q pyo3; then \
	  echo "steelyard-core must not depend on Python" >&2; exit 1; fi
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	MYPYPATH=service $(BIN)/python -m mypy.stubtest steelyard._core
	$(BIN)/lint-imports
	$(BIN)/python tools/proto.py --check
	cd tools && npm ci --silent --no-audit --no-fund && npx --no-install buf lint ..

fmt: $(VENV)/.dev ## Format the sources
	cargo fmt
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

proto: $(VENV)/.dev ## Generate the Python messages from proto/
	$(BIN)/python tools/proto.py

vectors: build $(VENV)/.dev ## Generate the language-neutral wire vectors
	$(BIN)/python tests/vectors/generate.py

fixtures: $(VENV)/.dev ## Run the real tools on the broken projects, store what they print
	$(BIN)/python tests/fixtures/regenerate.py

UV_COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-header

lock: $(VENV)/.dev ## Lock the Python requirements anew
	$(UV_COMPILE) pyproject.toml -o requirements/runtime.txt
	$(UV_COMPILE) requirements/build.in -o requirements/build.txt
	$(UV_COMPILE) pyproject.toml requirements/build.in requirements/dev.in -o requirements/dev.txt

clean: ## Remove everything that was built
	rm -rf $(VENV) .tools target dist tools/node_modules service/steelyard/_core*.so \
	  tests/clients/*/gen tests/clients/*/build tests/clients/*/target tests/clients/*/node_modules \
	  benches/load/peers/*/gen benches/load/peers/*/build benches/load/peers/*/target
