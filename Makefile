# On a fresh machine only Python 3.11+, git and make are needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PYTEST := $(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder --durations 10
ARGS   ?=

.PHONY: install demo test full clis crash soak lint bench mutation docs picture clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Squadron needs Python 3.11 or newer; call make PYTHON=python3.11"; exit 1; }
	@echo "installing into $(VENV) …" >&2
	@$(PYTHON) -m venv $(VENV) >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' >&2
	@touch $@

demo: install
	@PATH="$(CURDIR)/$(VENV)/clis/node_modules/.bin:$$PATH" $(BIN)/squadron demo $(ARGS)

# What is quick and certain; what takes longer is left to `make full`.
test: install
	$(PYTEST) -m "not full and not crash and not soak" $(ARGS)

full: export SQUADRON_TEST_COPILOT_CLI = $(CURDIR)/$(VENV)/clis/node_modules/.bin/copilot
full: clis test
	$(PYTEST) -m "full and not crash and not soak" $(ARGS)
	$(MAKE) crash
	$(MAKE) soak
	$(MAKE) mutation ARGS="--sample 120 --seed 2026"

# What others have written and our tests drive: the coding agents (SDKs from PyPI, a CLI from npm),
# and clients of GitHub (PyGithub, octokit.js, and Debian's gh where there is apt).
clis: install
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,claude,copilot]'
	npm install --loglevel=error --no-fund --no-audit --prefix $(VENV)/clis "@github/copilot@$$( \
	  $(BIN)/python -c 'from app.adapters.runtimes import copilot; print(copilot.CLI_VERSION)')" \
	  @octokit/rest@22.0.1
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt PyGithub
	cd $(VENV)/clis && { command -v gh || { apt-get download gh && dpkg-deb -x gh_*.deb gh; } \
	  || echo "gh is not installed, and apt-get has none: its tests are skipped" >&2; }

crash: install
	$(BIN)/pytest -m crash -s tests/crash $(ARGS)

soak: install
	$(BIN)/pytest -m soak -s tests/crash $(ARGS)
	$(BIN)/python -m bench workers

lint: install
	$(BIN)/ruff check app tests bench docs
	$(BIN)/ruff format --check app tests bench docs
	$(BIN)/mypy --num-workers 2
	$(BIN)/lint-imports

bench: install
	$(BIN)/python -m bench $(ARGS)

mutation: install
	@$(BIN)/python -m tests.mutation $(ARGS)

# What the documents take from the code.
docs: install
	@$(BIN)/python -m docs.from_code

# The picture in README: a page of the demo. It needs Debian's chromium.
picture: install
	@$(BIN)/python -m docs.picture

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
