# Every command prepares what it needs first: no set-up step to remember.

# What each command needs on top of the core: `--extra NAME` for an extra of pyproject.toml,
# `--java 17` where it starts Spark.
DEMO_NEEDS  := --extra simulation --extra planning --extra pipeline --java 17
TEST_NEEDS  := --extra test --java 17
LINT_NEEDS  := --extra test --extra bench --extra lint
BENCH_NEEDS := --extra bench --java 17

# Arguments passed on to pytest, for example: make test ARGS="tests/topology -x"
ARGS :=

# Runs scripts/setup.py, which looks for a suitable interpreter itself; PYTHON=... names one.
PYTHON3 = $(or $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	command -v $$name >/dev/null 2>&1 && echo $$name && break; done),\
	$(error needs Python >= 3.11, found no python3 on PATH))
SETUP   = $(PYTHON3) scripts/setup.py
# The simulator is compiled once, where one can see it.
COMPILE = .venv/bin/python -m streamgauge.api.simulator

CHECKED := src scripts $(wildcard benchmarks)
CACHES  := .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

.PHONY: help demo test test-slow test-storm lint bench bench-large reference constraints wheel clean

# Commands share .venv, and one may install into it.
.NOTPARALLEL:

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: ## run the demonstration; results in build/demo
	@$(SETUP) $(DEMO_NEEDS)
	@mkdir -p build
	.venv/bin/streamgauge demo --output build/demo

test: ## run the tests, without the slow ones and those that need a cluster
	@$(SETUP) $(TEST_NEEDS)
	@$(COMPILE)
	.venv/bin/python -m pytest -q -n 2 -m "not slow and not storm" $(ARGS)

test-slow: ## run the slow tests
	@$(SETUP) $(TEST_NEEDS)
	@$(COMPILE)
	@.venv/bin/python -m pytest -q -m slow $(ARGS); code=$$?; \
	if [ $$code -eq 5 ]; then echo "no slow tests"; else exit $$code; fi

# Skips, with the reason, without Java or Maven; where both are there and jars cannot be had, it fails.
test-storm: ## run the JUnit tests of what runs inside Storm, and the tests on a real cluster
	@$(SETUP) $(TEST_NEEDS)
	@$(COMPILE)
	.venv/bin/python -m pytest -q -rs -m storm $(ARGS)

lint: ## check style, types and which room imports which
	@$(SETUP) $(LINT_NEEDS)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy $(CHECKED)
	.venv/bin/lint-imports

bench: ## measure speed and accuracy; report in build/bench.json
	@$(SETUP) $(BENCH_NEEDS)
	@$(COMPILE)
	@mkdir -p build
	.venv/bin/python -m benchmarks --output build/bench.json

bench-large: ## the same at full size; report in build/bench-large.json
	@$(SETUP) $(BENCH_NEEDS)
	@$(COMPILE)
	@mkdir -p build
	.venv/bin/python -m benchmarks --large --output build/bench-large.json

reference: ## renew docs/reference.md from the docstrings of the public names
	@$(SETUP) $(TEST_NEEDS)
	.venv/bin/python -m scripts.reference

# The oldest supported Python, so that the versions fit every later one.
constraints: ## renew constraints.txt from the newest releases (needs python3.11)
	rm -rf build/constraints
	$(or $(PYTHON),python3.11) -m venv build/constraints
	build/constraints/bin/python -m pip install -q --disable-pip-version-check ".[test,bench,lint]"
	@{ echo "# Versions known to work together, all extras included. Renew with: make constraints"; \
	build/constraints/bin/python -m pip list --disable-pip-version-check --format=freeze \
		--exclude streamgauge --exclude pip --exclude setuptools; } > build/constraints.txt
	mv build/constraints.txt constraints.txt

# While the jar lies in the tree it is taken instead of the sources, so it does not stay.
JAR := src/streamgauge/engines/storm/streamgauge-storm.jar
wheel: ## build the wheel with the jar for Storm in it, into dist (needs Maven and Java 17)
	@$(SETUP) --extra test --java 17
	cp "$$(.venv/bin/streamgauge storm agent 2>/dev/null | head -1)" $(JAR)
	.venv/bin/python -m pip wheel -q --disable-pip-version-check --no-deps -w dist . ; \
	code=$$?; rm -f $(JAR); exit $$code

clean: ## remove .venv, build and caches
	rm -rf .venv .venv.lock build dist $(CACHES)
	@find src tests scripts benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
