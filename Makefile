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
# OFFLINE=1: take packages and crates from wheelhouse/ (`make wheelhouse`) instead of the network.
OFFLINE ?=
export OFFLINE
HOUSE  := $(CURDIR)/wheelhouse
ifneq ($(OFFLINE),)
export CARGO_NET_OFFLINE := true
export CARGO_HOME := $(HOUSE)/cargo
PIP_FROM := --no-index --find-links "$(HOUSE)/python"
endif
# Every file must have one of the hashes in the list, and nothing is built from source.
PIP    := -m pip --quiet --disable-pip-version-check
PINNED := --require-hashes --only-binary=:all:
# The packages that come before the core: `make demo` needs only those of a user.
PACKAGES ?= user
# Hundreds of tests start the command line, which takes twice as long without cached byte code.
unexport PYTHONDONTWRITEBYTECODE
RUST   := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: help demo test fuzz docs-check stress rust programs lint setup build bench bench-real costs docs validate \
	validate-real audit lock wheelhouse clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: build ## Set up, re-run the RAQM paper quickly, say where the report is
	@$(BIN)/sojourn reproduce raqm2005 --quick --out results/demo
	@echo; echo "Open results/demo/report.html in a browser."

test: ## Set up, then every check and every test but those of docs-check, on all cores
	+@$(MAKE) --no-print-directory --jobs=$(CORES) PACKAGES=dev rust lint build
	$(BIN)/pytest -m "not generated" --numprocesses=$(WORKERS) --dist=loadgroup

# The cases of each target; a hundredth of them for results directories. Cases per second of processor time:
# specs 12000, plans 2000, scenarios 1000, results directories 20; in Rust plans 4000, algorithms 5000,
# schedulers 1300, misspelt specs 37000, packets 900000.
FUZZ_CASES ?= 300000
FUZZ_FIRST ?= 0
fuzz: build ## Random inputs for every reader, FUZZ_CASES each (300000), from seed FUZZ_FIRST (0): about 15 minutes
	FUZZ_CASES=$(FUZZ_CASES) FUZZ_FIRST=$(FUZZ_FIRST) $(BIN)/pytest tests/fuzz --numprocesses=$(CORES)
	PROPTEST_CASES=$(FUZZ_CASES) cargo test --package sojourn-gateway --profile checked --locked --test main packets::
	PROPTEST_CASES=$(FUZZ_CASES) cargo test --package sojourn-sim --profile checked --locked --test main fuzz::
	PROPTEST_CASES=$(FUZZ_CASES) cargo test --package sojourn-aqm --profile checked --locked --test main fuzz::

docs-check: programs setup ## Generated pictures are fresh, and instructions a packet within their bounds (valgrind)
	$(BIN)/pytest -m generated

stress: build setup ## The tests with real packets, RUNS times (20), beside two busy loops
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

bench: build setup ## Speed: one line a case, compared with ns-2 where it is installed
	cargo build --release --locked --package sojourn-sim --examples
	@$(BIN)/python benches/bench.py

bench-real: build setup ## Real packets: rate, lateness, marks against their goals (needs root and iperf3)
	@$(BIN)/python benches/real.py

costs: build setup ## Measure what each decision costs (two minutes on a quiet machine, with valgrind), then the docs
	cargo build --release --locked --package sojourn-aqm --examples
	@$(BIN)/sojourn bench aqm --json > docs/algorithms/costs.json.new
	@mv docs/algorithms/costs.json.new docs/algorithms/costs.json
	@$(MAKE) --no-print-directory docs

docs: build setup ## Write what is generated: parameter tables, metrics, the schema of scenario files
	@$(BIN)/python docs/pictures.py
	@$(BIN)/python docs/generate.py

validate: build setup ## Compare with recorded results of ns-2 (about five minutes) and of Linux
	$(BIN)/python -m validation.run
	$(BIN)/python -m validation.linux.run

validate-real: build setup ## Compare simulated with real packets (20 minutes on a quiet machine; needs root)
	$(BIN)/python -m validation.real.run

audit: $(STAMPS)/user ## Licences, sources and known vulnerabilities of all dependencies (needs cargo-deny and git)
	@$(BIN)/python tools/audit.py

lock: ## Pin the Python packages again, with hashes (needs uv); UPGRADE=--upgrade takes newer versions
	@command -v uv >/dev/null || { echo "uv is missing, which pins the packages: pipx install uv" >&2; exit 2; }
	$(LOCK) pyproject.toml requirements/tools.in --output-file requirements/user.txt
	$(LOCK) pyproject.toml requirements/tools.in --extra dask --extra dev --output-file requirements/dev.txt
	$(PYTHON) tools/pins.py sbom

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(UPGRADE) \
	--custom-compile-command "make lock"

wheelhouse: $(STAMPS)/user ## All packages and crates into wheelhouse/, for machines like this one without network
	$(BIN)/python tools/online.py $(BIN)/python $(PIP) download $(PINNED) --dest wheelhouse/python \
		--requirement requirements/dev.txt
	$(BIN)/python tools/online.py cargo vendor --locked --quiet --versioned-dirs wheelhouse/crates >/dev/null
	@mkdir -p wheelhouse/cargo # with OFFLINE=1, cargo's home
	@printf '[source.crates-io]\nreplace-with = "wheelhouse"\n[source.wheelhouse]\ndirectory = "crates"\n' \
		> wheelhouse/cargo/config.toml

setup: $(STAMPS)/dev ## All Python packages of developers into .venv, as pinned in requirements/
build: $(STAMPS)/core ## Compile the core into .venv

$(STAMPS)/user: requirements/user.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing; say which Python 3.11+ to use: make PYTHON=python3 ..." >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "cargo is missing: Rust 1.88 or later is needed" >&2; exit 1; }
	@test -z "$(OFFLINE)" || test -f wheelhouse/cargo/config.toml || { echo "wheelhouse/ is missing: run \`make wheelhouse\` where there is network, and copy it here" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python tools/online.py $(BIN)/python $(PIP) install $(PINNED) $(PIP_FROM) --requirement $<
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/dev: requirements/dev.txt $(STAMPS)/user
	@$(BIN)/python tools/online.py $(BIN)/python $(PIP) install $(PINNED) $(PIP_FROM) --requirement $<
	@touch $@

$(STAMPS)/core: pyproject.toml $(RUST) crates/py/build.rs requirements/python.cdx.json | $(STAMPS)/$(PACKAGES)
	+@VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/python tools/online.py \
		$(BIN)/maturin develop --release --locked --quiet
	@touch $@

clean: ## Remove what was built (not results)
	rm -rf $(VENV) target
