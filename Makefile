# Every target sets itself up: .ci/setup makes .venv and installs what is missing.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help demo check test campaign fuzz bench format clean lint

BIN := .venv/bin
# Tiers of the fast loop; one that does not exist yet is left out.
FAST := $(wildcard tests/unit tests/contract tests/security tests/stories tests/tidy)
# What `make test` looks at: make test TESTS=tests/e2e
TESTS ?= tests
# A campaign of `make fuzz`: how long, and how many examples of each property in one round.
MINUTES ?= 10
EXAMPLES ?= 500
SEED ?=
# A part of the benchmark, by name: make bench PART=serial
PART ?=

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Watch the whole product work on this machine: no account, no network
	@bash .ci/setup demo
	@$(BIN)/mergebot demo

check: ## The fast loop: format, lint, types, layers, fast tests (under a minute)
	@bash .ci/setup check
	@$(MAKE) --no-print-directory lint
	$(BIN)/pytest -q -n 2 -m "not slow" $(FAST)

test: ## The fast loop, simulation, end to end, browser (under ten minutes)
	@bash .ci/setup test
	@$(MAKE) --no-print-directory lint
	$(BIN)/pytest -q -n 3 --dist worksteal --durations=40 -m "not campaign" $(TESTS)

campaign: ## What takes too long for make test: this project lands a change of its own, and more
	@bash .ci/setup test
	$(BIN)/pytest -q -n 2 -m campaign tests

fuzz: ## Fuzz every parser with new examples for ten minutes (longer: make fuzz MINUTES=60)
	@bash .ci/setup check
	@$(BIN)/python -m tests.fuzz --minutes $(MINUTES) --examples $(EXAMPLES) $(if $(SEED),--seed $(SEED))

bench: ## Measure against a bare shell loop (one part: make bench PART=serial)
	@bash .ci/setup check
	$(BIN)/python -m tests.bench $(PART)

format: ## Rewrite the code in the one style
	@bash .ci/setup check
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

clean: ## Remove .venv, caches and build results
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

lint:
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy --no-error-summary mergebot tests
	$(BIN)/lint-imports --no-logo > .venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }
