# Sojourn: `make demo` sets up and shows a result, `make test` checks everything; `make help` lists all targets.
# Python 3.11 or later, cargo, a C compiler and make are required; all other packages are installed into .venv.
# No target but bench-real and validate-real needs root.

PYTHON ?= python3.11
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps
CORES  := $(shell getconf _NPROCESSORS_ONLN)
# One more than there are cores: the worker with the tests of real packets mostly waits.
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
# Every file must have one of the hashes in the list, and no package is built from source.
PIP    := -m pip --quiet --disable-pip-version-check
PINNED := --require-hashes --only-binary=:all:
# One at a time: with --jobs, two would write to the environment at once.
LOCKED := $(shell command -v flock >/dev/null && echo flock $(VENV))
INSTALL = $(LOCKED) $(BIN)/python tools/online.py $(BIN)/python $(PIP) install $(PINNED) $(PIP_FROM) --requirement $<
# The list of packages that is installed before the core is built: `user`, or `dev` for `make test`.
PACKAGES ?= user
# Python starts twice as fast with cached byte code, and many tests start it.
unexport PYTHONDONTWRITEBYTECODE
RUST   := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

# The target of `make wasm`, if it is installed.
WASM   := $(wildcard $(shell rustc --print sysroot 2>/dev/null)/lib/rustlib/wasm32-unknown-unknown)

.PHONY: help demo test fuzz docs-check stress soak rust programs lint setup build bench bench-real kernel costs docs site wasm web wheels wheel-test container \
	validate validate-real validate-kernel audit lock wheelhouse clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: build ## Set up, compare three queues, re-run a paper's figure, print where the page is
	@$(BIN)/sojourn demo

test: ## Set up, then run every check and test except those of docs-check, on all cores
	+@$(MAKE) --no-print-directory --jobs=$(CORES) PACKAGES=dev rust lint build $(if $(WASM),wasm)
	$(BIN)/pytest -m "not generated and not wheel" --numprocesses=$(WORKERS) --dist=loadgroup

# Each reader gets FUZZ_CASES inputs, the live page a tenth, and the reader of results directories a hundredth of
# them. Inputs per second of processor time: specs 12000, plans 2000, scenarios 1000, requests to the live page
# 1200, results directories 20; in Rust plans 4000, algorithms 5000, schedulers 1300, misspelt specs 37000, packets
# 900000.
FUZZ_CASES ?= 300000
# Another seed gives other inputs: FUZZ_FIRST those of Python, FUZZ_SEED those of Rust. Both are printed.
FUZZ_FIRST ?= 0
FUZZ_SEED ?= 1
fuzz: export PROPTEST_CASES = $(FUZZ_CASES)
fuzz: export PROPTEST_RNG_SEED = $(FUZZ_SEED)
fuzz: build ## Test every reader with FUZZ_CASES (300000) random inputs, seeds FUZZ_FIRST (0) and FUZZ_SEED (1)
	@echo "FUZZ_CASES=$(FUZZ_CASES) FUZZ_FIRST=$(FUZZ_FIRST) FUZZ_SEED=$(FUZZ_SEED)"
	FUZZ_CASES=$(FUZZ_CASES) FUZZ_FIRST=$(FUZZ_FIRST) $(BIN)/pytest tests/fuzz --numprocesses=$(CORES)
	cargo test --package sojourn-gateway --profile checked --locked --test main packets::
	cargo test --package sojourn-sim --profile checked --locked --test main fuzz::
	cargo test --package sojourn-aqm --profile checked --locked --test main fuzz::

docs-check: programs setup ## Check generated pictures, and the bounds of instructions per packet (needs valgrind)
	$(BIN)/pytest -m generated

stress: build setup ## Run the tests of real packets RUNS times (20), beside two busy loops
	@for _ in 1 2; do while :; do :; done & loops="$$loops $$!"; done; \
	trap "kill $$loops" EXIT; trap exit INT TERM; failed=0; \
	for run in $$(seq $(RUNS)); do $(BIN)/pytest -m real --quiet || failed=$$((failed + 1)); done; \
	echo "$$failed of $(RUNS) runs failed"; test $$failed = 0

# Duration of `soak` in seconds.
DURATION ?= 3600
soak: build setup ## Run the gateway at full speed for DURATION (3600) seconds; fail if its memory grows (needs iperf3)
	@$(BIN)/python benches/soak.py $(DURATION)

# One profile for all four commands, so that they share metadata, procedural macros and build scripts.
rust: ## Run the lints and tests of Rust only
	+cargo clippy --workspace --all-targets --profile checked --locked --quiet -- -D warnings
	+cargo test --workspace --profile checked --locked --quiet
	+RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --profile checked --locked --quiet
	+$(PYTHON) tools/package.py sojourn-aqm sojourn-sim

programs: build # the programs whose instructions docs-check counts
	+cargo build --package sojourn-sim --examples --release --locked --quiet

lint: setup ## Run the quick checks only
	cargo fmt --all --check
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	cd python && ../$(BIN)/lint-imports --config ../pyproject.toml --no-logo --no-cache
	$(BIN)/mypy
	$(BIN)/python tools/words.py

# The module belongs to the sources of the core that it was built from, by its name.
wasm: build ## Build the simulator for web pages (needs the target wasm32-unknown-unknown)
	cargo build --profile wasm --target wasm32-unknown-unknown --package sojourn-explore --locked
	@rm -f python/sojourn/explore/engine-*.wasm.gz
	@gzip -9 --no-name --stdout target/wasm32-unknown-unknown/wasm/sojourn_explore.wasm > \
		"python/sojourn/explore/engine-$$($(BIN)/python -c 'from sojourn import _core; print(_core.CORE_VERSION)').wasm.gz"

web: ## Check and bundle the scripts of the live page (needs Node.js and npm)
	cd web && npm ci --no-audit --no-fund --silent && npm run --silent check && npm run --silent build

# Zig links for an old glibc (manylinux2014), and for the other architecture.
MACHINES := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
wheels: build $(STAMPS)/wheels ## Build wheels for x86-64 and aarch64 into target/wheels (needs rustup)
	@command -v rustup >/dev/null || { echo "rustup is missing; the core of another machine needs its target" >&2; exit 2; }
	rustup --quiet target add $(MACHINES) wasm32-unknown-unknown
	@$(MAKE) --no-print-directory wasm
	@rm -f target/wheels/*.whl
	for machine in $(MACHINES); do PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --locked --quiet \
		--zig --compatibility manylinux2014 --target $$machine --out target/wheels || exit; done
	@ls -l target/wheels

wheel-test: build setup ## Install a wheel into an empty environment and run the first commands there
	$(BIN)/pytest -m wheel

container: ## Build the container image `sojourn` (needs docker or podman)
	@tool=$$(command -v podman || command -v docker) || { echo "podman or docker is missing" >&2; exit 2; }; \
	$$tool build --tag sojourn --file Containerfile .

bench: build setup ## Measure the speed, one line per case, compared with ns-2 if it is installed
	cargo build --release --locked --package sojourn-sim --examples
	@$(BIN)/python benches/bench.py

bench-real: build setup ## Measure rate, lateness and marks of real packets (needs root and iperf3)
	@$(BIN)/python benches/real.py

kernel: build ## Build the Linux kernel of the world `kernel` into the user's cache (once, some minutes; no root)
	@$(BIN)/python -m sojourn.worlds.kernel.build

costs: build setup ## Measure the cost of each decision (needs valgrind and two quiet minutes), then generate the docs
	cargo build --release --locked --package sojourn-aqm --examples
	@$(BIN)/sojourn bench aqm --json > docs/algorithms/costs.json.new
	@mv docs/algorithms/costs.json.new docs/algorithms/costs.json
	@$(MAKE) --no-print-directory docs

docs: build setup ## Generate pictures, parameter tables, metrics and the schema of scenario files
	@$(BIN)/python docs/pictures.py
	@$(BIN)/python docs/generate.py

site: build $(STAMPS)/site $(if $(WASM),wasm) ## Build the documentation as a website into target/site
	@rm -rf target/site target/live
	$(if $(WASM),@mkdir -p target/live && $(BIN)/sojourn explore --out target/live/live.html)
	$(BIN)/sphinx-build -W --keep-going --quiet --jobs $(CORES) -c docs/site . target/site
	@$(BIN)/python docs/site/check.py target/site
	@echo "Open target/site/index.html in a browser."

validate: build setup ## Compare with recorded results of ns-2 (about five minutes) and of Linux
	$(BIN)/python -m validation.run
	$(BIN)/python -m validation.linux.run

validate-real: build setup ## Compare simulated with real packets (20 quiet minutes; needs root)
	$(BIN)/python -m validation.real.run

validate-kernel: build setup ## Compare the simulator with the Linux kernel of `make kernel` (some hours, resumable)
	$(BIN)/python -m validation.kernel.run

audit: $(STAMPS)/user ## Check licences, sources and known vulnerabilities of dependencies (needs cargo-deny and git)
	@$(BIN)/python tools/audit.py

lock: ## Pin the Python packages again, with hashes (needs uv); UPGRADE=--upgrade takes newer versions
	@command -v uv >/dev/null || { echo "uv is missing; install it: pipx install uv" >&2; exit 2; }
	$(LOCK) pyproject.toml --output-file requirements/user.txt
	$(LOCK) pyproject.toml requirements/tools.in --extra dask --extra dev --output-file requirements/dev.txt
	$(LOCK) requirements/tools.in --constraint requirements/dev.txt --output-file requirements/build.txt
	$(LOCK) pyproject.toml --extra site --constraint requirements/dev.txt --output-file requirements/site.txt
	$(LOCK) requirements/wheels.in --output-file requirements/wheels.txt
	$(PYTHON) tools/pins.py sbom

LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(UPGRADE) \
	--custom-compile-command "make lock"

wheelhouse: $(STAMPS)/user ## Download all packages and crates into wheelhouse/, for a similar machine without network
	$(BIN)/python tools/online.py $(BIN)/python $(PIP) download $(PINNED) --dest wheelhouse/python \
		--requirement requirements/dev.txt
	$(BIN)/python tools/online.py cargo vendor --locked --quiet --versioned-dirs wheelhouse/crates >/dev/null
	@mkdir -p wheelhouse/cargo # with OFFLINE=1, cargo's home
	@printf '[source.crates-io]\nreplace-with = "wheelhouse"\n[source.wheelhouse]\ndirectory = "crates"\n' \
		> wheelhouse/cargo/config.toml

setup: $(STAMPS)/dev ## Install all Python packages for development into .venv, as pinned in requirements/
build: $(STAMPS)/core ## Compile the core into .venv

$(STAMPS)/user: requirements/user.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing; to use another Python 3.11 or later: make PYTHON=python3 ..." >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "cargo is missing: Rust 1.88 or later is needed" >&2; exit 1; }
	@test -z "$(OFFLINE)" || test -f wheelhouse/cargo/config.toml || { echo "wheelhouse/ is missing: run \`make wheelhouse\` on a machine with a network and copy it here" >&2; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/build: requirements/build.txt $(STAMPS)/user
	@$(INSTALL)
	@touch $@

$(STAMPS)/dev: requirements/dev.txt $(STAMPS)/user
	@$(INSTALL)
	@touch $@

$(STAMPS)/site: requirements/site.txt $(STAMPS)/user
	@$(INSTALL)
	@touch $@

$(STAMPS)/wheels: requirements/wheels.txt $(STAMPS)/user
	@$(INSTALL)
	@touch $@

$(STAMPS)/core: pyproject.toml $(RUST) crates/py/build.rs requirements/python.cdx.json | $(STAMPS)/$(PACKAGES) $(STAMPS)/build
	+@VIRTUAL_ENV="$(CURDIR)/$(VENV)" $(BIN)/python tools/online.py \
		$(BIN)/maturin develop --release --locked --quiet
	@touch $@

clean: ## Remove .venv and target (not results)
	rm -rf $(VENV) target
