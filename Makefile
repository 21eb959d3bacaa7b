# One command on a machine that has only Python 3.11 or later: `make demo`, and for developers `make test`.
# Everything is installed into .venv; nothing else on the machine is touched. `make test PYTHON=python3.13` uses another
# interpreter, in an environment of its own.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))
BIN := $(VENV)/bin
# One process more than processors, since slow tests wait for programs.
PYTEST := $(BIN)/pytest -q --dist worksteal -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
EXTRAS := cli,mcp,notebook,otel,postgres,redis,testing
# Without bytecode each process of the tests would compile all that it imports.
export PYTHONDONTWRITEBYTECODE =

.DEFAULT_GOAL := help
.PHONY: help demo test versions check unit docs sandbox bench format lock dist clean

help: ## List the commands
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: $(VENV)/.command ## Show a fan-out in the terminal, against a service in this process
	@$(BIN)/cmsapi demo

test: check ## Check everything and run all tests
	$(PYTEST)

versions: ## Run all tests on each supported Python that is installed
	@.ci/run

check: $(VENV)/.ready ## Lint, format, spelling, types, imports, dependencies, lock file
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/codespell
	$(BIN)/mypy --no-error-summary
	$(BIN)/pyright --warnings --pythonpath $(BIN)/python
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/pyright --verifytypes cmsapi --ignoreexternal >.pyright.txt \
	|| { cat .pyright.txt; exit 1; }
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .
	@$(BIN)/uv lock --quiet --check --offline --python $(BIN)/python || { echo 'uv.lock does not fit pyproject.toml: run make lock.'; exit 1; }

unit: $(VENV)/.ready ## Run the quick tests: no child processes, no real waiting
	$(PYTEST) -m 'not slow'

docs: $(VENV)/.ready ## Build the documentation into build/docs; warnings are errors
	$(BIN)/sphinx-build -W -q docs build/docs

sandbox: $(VENV)/.command ## Serve the whole service on this machine
	@$(BIN)/cmsapi sandbox

bench: $(VENV)/.bench ## Run the benchmarks
	@set -e; for name in $(notdir $(basename $(wildcard benchmarks/[a-z]*.py))); do $(BIN)/python -m benchmarks.$$name; done

format: $(VENV)/.ready ## Format the code and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: ## Take the newest versions of all dependencies into uv.lock, which takes uv and a network
	uv lock --quiet --upgrade --default-index https://pypi.org/simple

dist: $(VENV)/.ready ## Build and check the packages, and run the demonstration of the wheel in a clean environment
	rm -rf dist build/clean
	$(BIN)/uv build --quiet
	$(BIN)/twine check --strict dist/*
	$(BIN)/uv venv --quiet --python $(BIN)/python build/clean
	$(BIN)/uv pip install --quiet --python build/clean/bin/python "$$(echo dist/*.whl)[cli]"
	cd build && clean/bin/cmsapi demo

clean: ## Remove what these commands made
	rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis .schemathesis .import_linter_cache .coverage* .pyright.txt dist build

$(VENV)/.command: pyproject.toml uv.lock
	@$(call install,cli,)

$(VENV)/.ready: pyproject.toml uv.lock
	@$(call install,$(EXTRAS),--group dev)

$(VENV)/.bench: $(VENV)/.ready
	@$(call install,$(EXTRAS),--group dev --group bench)

# uv installs the versions of uv.lock. Otherwise pip installs the newest: that of the environment or, where ensurepip is
# missing (Debian), that of the system. Groups take pip 25.1.
comma := ,
define install
echo 'Setting up $(VENV), once: seconds with uv, a minute or two with pip.'; \
python=$$(.ci/find-python $(PYTHON)) || exit 1; \
if uv --version >/dev/null 2>&1; then \
	UV_PROJECT_ENVIRONMENT=$(VENV) uv sync --quiet --locked --inexact --no-default-groups $(2) --python $$python \
	$(addprefix --extra ,$(subst $(comma), ,$(1))); \
else \
	$$python -m venv $(VENV) 2>/dev/null || $$python -m venv --clear --without-pip $(VENV); \
	$(BIN)/python -m pip --version >/dev/null 2>&1 || $$python -m pip --python $(BIN)/python install --quiet pip; \
	$(BIN)/python -m pip install --quiet 'pip>=25.1' && $(BIN)/python -m pip install --quiet --editable '.[$(1)]' $(2); \
fi && touch $@
endef
