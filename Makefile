# Sojourn: `make demo` is the first thing to type, `make test` the last before a commit.
# Needs Python 3.11 or later, cargo, a C compiler and make; everything else goes into .venv in this clone.
# Nothing is installed outside the clone, nothing needs root.

PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
CORES  := $(shell getconf _NPROCESSORS_ONLN)
# One more than there are cores, for the one that mostly waits for real packets.
WORKERS := $(shell expr $(CORES) + 1)
RUNS   ?= 20
# Hundreds of tests start the command line, which takes twice as long without cached byte code.
unexport PYTHONDONTWRITEBYTECODE
RUST   := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: help demo test docs-check stress rust programs lint setup build bench bench-real costs docs validate clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: build ## Set up, re-run the RAQM paper quickly, say where the report is
	@$(BIN)/sojourn reproduce raqm2005 --quick --out results/demo
	@echo; echo "Open results/demo/report.html in a browser."

test: ## Set up, then every check and every test but those of docs-check, on all cores
	+@$(MAKE) --no-print-directory --jobs=$(CORES) rust lint build
	$(BIN)/pytest -m "not generated" --numprocesses=$(WORKERS) --dist=loadgroup

docs-check: programs ## Generated pictures are fresh, and instructions a packet within their bounds (valgrind)
	$(BIN)/pytest -m generated

stress: build ## The tests with real packets, RUNS times (20), beside two busy loops
	@for _ in 1 2; do while :; do :; done & loops="$$loops $$!"; done; \
	trap "kill $$loops" EXIT; trap exit INT TERM; failed=0; \
	for run in $$(seq $(RUNS)); do $(BIN)/pytest -m real --quiet || failed=$$((failed + 1)); done; \
	echo "$$failed of $(RUNS) runs failed"; test $$failed = 0

# With one profile these share metadata, procedural macros and build scripts.
rust: ## Rust only: its lints and its tests
	+cargo clippy --workspace --all-targets --profile checked --locked --quiet -- -D warnings
	+cargo test --workspace --profile checked --locked --quiet
	+RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --profile checked --locked --quiet
	+$(PYTHON) tools/package.py sojourn-aqm sojourn-sim

programs: build # whose instructions are counted
	+cargo build --package sojourn-sim --examples --release --locked --quiet

lint: setup ## The quick checks only
	cargo fmt --all --check
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	cd python && ../$(BIN)/lint-imports --config ../pyproject.toml --no-logo --no-cache
	$(BIN)/mypy
	$(BIN)/python tools/words.py

bench: build ## Speed: one line a case, compared with ns-2 where it is installed
	cargo build --release --locked --package sojourn-sim --examples
	@$(BIN)/python benches/bench.py

bench-real: build ## Real packets: rate, lateness, marks against their goals (needs root and iperf3)
	@$(BIN)/python benches/real.py

costs: build ## Measure what each decision costs (two minutes on a quiet machine, with valgrind), then the docs
	cargo build --release --locked --package sojourn-aqm --examples
	@$(BIN)/sojourn bench aqm --json > docs/algorithms/costs.json.new
	@mv docs/algorithms/costs.json.new docs/algorithms/costs.json
	@$(MAKE) --no-print-directory docs

docs: build ## Write what is generated: parameter tables, metrics, the schema of scenario files
	@$(BIN)/python docs/pictures.py
	@$(BIN)/python docs/generate.py

validate: build ## Compare with recorded results of ns-2 (about five minutes) and of Linux
	$(BIN)/python -m validation.run
	$(BIN)/python -m validation.linux.run

validate-real: build ## Compare simulated with real packets (20 minutes on a quiet machine; needs root)
	$(BIN)/python -m validation.real.run

setup: $(STAMPS)/packages ## Python packages into .venv, at the versions of constraints.txt
build: $(STAMPS)/core ## Compile the core into .venv

$(STAMPS)/packages: constraints.txt pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing; say which Python 3.11+ to use: make PYTHON=python3 ..." >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "cargo is missing: Rust 1.88 or later is needed" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement constraints.txt
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/core: $(STAMPS)/packages $(RUST) crates/py/build.rs
	+VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --locked --quiet
	@touch $@

clean: ## Remove what was built (not results)
	rm -rf $(VENV) target
