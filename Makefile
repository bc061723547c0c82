# On a fresh machine only Python 3.11+, git and make are needed.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
ARGS   ?=

.PHONY: install demo test crash lint bench clean

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Squadron needs Python 3.11 or newer; call make PYTHON=python3.11"; exit 1; }
	@echo "installing into $(VENV) …" >&2
	@$(PYTHON) -m venv $(VENV) >&2
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' >&2
	@touch $@

demo: install
	@$(BIN)/squadron demo $(ARGS)

test: install
	$(BIN)/pytest -m "not crash" --numprocesses 2 --dist loadfile $(ARGS)

crash: install
	$(BIN)/pytest -m crash -s tests/crash $(ARGS)

lint: install
	$(BIN)/ruff check app tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: install
	$(BIN)/python -m bench $(ARGS)

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
