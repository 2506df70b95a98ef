# Everything a fresh machine with Python 3.10 or newer and make needs; `make help` lists it.
# Only the server writes on stdout: `make -s -C FOLDER run` keeps make itself quiet too.

PYTHON ?= python3
PYTEST_ARGS ?=
# Four processes on two cores, each with whole files: most tests wait for a process of their own.
PYTEST_WORKERS ?= -n 4 --dist loadfile --no-loadscope-reorder
BENCH_ARGS ?=
PYTHONS ?=
BUILD := $(PYTHON) -m build
HOST := dist/memory-server-host.pyz
VENV := .venv/bin/python
PYTEST_ENV := MEMORY_SERVER_PYZ=$(CURDIR)/$(HOST)
PYTEST := $(PYTEST_ENV) $(VENV) -m pytest

# What `make check` traces: the packages without the SDK, by their own tests.
CORE := disk graph jsonl location lock storage tools test_text.py
CORE_FILES := memory_app/text.py,memory_app/errors.py,memory_app/disk/*,memory_app/graph/*,memory_app/jsonl/*,memory_app/location/*,memory_app/lock/*,memory_app/storage/*,memory_app/tools/*
CORE_COVERAGE := 93

.PHONY: help run test lint check coverage pyz pyz-host pyz-platforms mcpb stress bench platforms pins startup platform-table tools-page clean

help:
	@echo 'make run             serve on stdio: dist/memory-server.pyz, made for this platform unless it is there'
	@echo 'make test            lint, types, build the archive for this platform, test it'
	@echo 'make lint            lint, format, spelling and types only'
	@echo 'make check           the same, and the branch coverage of the core by its own tests; the last line is the figure'
	@echo 'make coverage        the branch coverage of everything by all tests'
	@echo 'make pyz             dist/memory-server.pyz for every platform and CPython 3.10 to 3.15'
	@echo 'make pyz-host        dist/memory-server-host.pyz for this platform'
	@echo 'make pyz-PLATFORM    dist/memory-server-PLATFORM.pyz; `make pyz-platforms` makes all of them'
	@echo 'make mcpb            dist/memory-server.mcpb, a bundle for Claude Desktop, from dist/memory-server.pyz'
	@echo 'make stress          the long tests: crashes, races, full disks; PARTS="kills files" for some of them'
	@echo 'make bench           every cost beside the npm server'
	@echo 'make platforms       the archive on every interpreter, platform and client that can be had here'
	@echo 'make pins            resolve the requirements anew (needs uv); make startup, platform-table, tools-page: see build/'
	@echo 'make clean           remove what was made, but for the downloads in .cache and memories in dist'

run:
	@exec $(BUILD) run

test: lint pyz-host
	@$(PYTEST) $(PYTEST_WORKERS) $(PYTEST_ARGS)

lint: .venv-ready
	@$(VENV) -m ruff check .
	@$(VENV) -m ruff format --check --quiet .
	@$(VENV) -m codespell_lib README.md .github build memory_app
	@$(VENV) -m mypy

check: lint pyz-host
	@$(VENV) -m coverage erase
	@$(PYTEST_ENV) $(VENV) -m coverage run -m pytest -q $(PYTEST_WORKERS) $(patsubst %,tests/%,$(CORE))
	@$(VENV) -m coverage combine --quiet
	@$(VENV) -m coverage report --skip-covered --include='$(CORE_FILES)' --fail-under=$(CORE_COVERAGE)

coverage: lint pyz-host
	@$(PYTEST_ENV) $(VENV) -m coverage run -m pytest $(PYTEST_ARGS)
	@$(VENV) -m coverage combine --quiet
	@$(VENV) -m coverage report

pyz:
	@$(BUILD) pyz

pyz-host:
	@$(BUILD) host

pyz-platforms:
	@$(BUILD) platforms

mcpb:
	@$(BUILD) mcpb

pyz-%:
	@$(BUILD) $*

stress: .venv-ready pyz-host
	@test -n "$(PARTS)" || $(PYTEST) -m slow $(PYTEST_ARGS)
	@MEMORY_SERVER_PYZ=$(CURDIR)/$(HOST) $(VENV) -m tests.stress.run $(PARTS) $(STRESS_ARGS)

bench: .venv-ready pyz-host
	@MEMORY_SERVER_PYZ=$(CURDIR)/$(HOST) $(VENV) -m tests.bench $(BENCH_ARGS)

platforms: .venv-ready pyz
	@MEMORY_SERVER_PYZ=$(CURDIR)/dist/memory-server.pyz $(VENV) -m tests.platforms

pins: .venv-ready
	@$(VENV) -m build.pins

startup: .venv-ready pyz-host
	@$(VENV) -m build.startup $(HOST) $(PYTHONS)

platform-table: .venv-ready
	@$(VENV) -m build.platform_table

tools-page: .venv-ready
	@$(VENV) -m build.tools_page

# `make run` keeps its memory in dist, beside the archive: that is not ours to remove.
clean:
	@rm -f dist/*.pyz dist/*.pyz.cdx.json dist/*.pyz.sha256 dist/*.mcpb dist/*.part
	@rmdir dist 2>/dev/null || true
	@rm -f .coverage .coverage.*
	@rm -rf .venv .cache/tools .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './.cache/*' -prune -exec rm -rf {} +

.PHONY: .venv-ready
.venv-ready:
	@$(BUILD) venv
