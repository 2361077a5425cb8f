# Every command of this repository. `make quickstart` is the first to try, `make test` the second.

SWIFT ?= swift
PREFIX ?= /usr/local
SECONDS_OF_FUZZ ?= 60
# The finished program. It stays here whatever the platform.
PROGRAM = .build/release/ssebench

.PHONY: help setup build quickstart test interop real-llm fuzz leaks bench install uninstall format lint clean

help:
	@echo 'make quickstart       set up, build, and run Scenarios/quickstart.json: a report in about a minute'
	@echo 'make test             set up, build, and run every test; no network, no root'
	@echo 'make build            the program, at $(PROGRAM)'
	@echo 'make interop          tests with real servers, SDKs and browsers (installs them under .build/)'
	@echo 'make real-llm         a run against llama.cpp with a small real model'
	@echo 'make fuzz             random and damaged input for the parsers (SECONDS_OF_FUZZ=$(SECONDS_OF_FUZZ))'
	@echo 'make leaks            the tests of engine and transports under LeakSanitizer'
	@echo 'make bench            the parser and decoder benchmarks'
	@echo 'make install          program, manual page and completions under PREFIX=$(PREFIX)'
	@echo 'make format, lint     lay the sources out, or say where they are not'
	@echo 'make clean            remove what was built'

setup:
	@.ci/setup

build: setup
	$(SWIFT) build -c release --product ssebench

quickstart: build
	$(PROGRAM) run Scenarios/quickstart.json

test: setup
	$(SWIFT) build -c release --build-tests
	$(SWIFT) test -c release --skip-build --disable-xctest

interop: setup
	$(SWIFT) build -c release
	Tests/Interop/run.sh

real-llm: build
	Tests/Interop/run.sh real_llm.py

fuzz: setup
	Tests/Fuzz/run.sh $(SECONDS_OF_FUZZ)

leaks: setup
	Tests/Leaks/run.sh

bench: build
	$(PROGRAM) bench

install: build
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/share/man/man1' \
	  '$(DESTDIR)$(PREFIX)/share/bash-completion/completions' '$(DESTDIR)$(PREFIX)/share/zsh/site-functions' \
	  '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d'
	install -m 755 $(PROGRAM) '$(DESTDIR)$(PREFIX)/bin/ssebench'
	$(PROGRAM) man > '$(DESTDIR)$(PREFIX)/share/man/man1/ssebench.1'
	$(PROGRAM) completions bash > '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/ssebench'
	$(PROGRAM) completions zsh > '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ssebench'
	$(PROGRAM) completions fish > '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ssebench.fish'
	@echo 'installed: $(DESTDIR)$(PREFIX)/bin/ssebench, its manual page and completions for bash, zsh and fish'

uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/ssebench' '$(DESTDIR)$(PREFIX)/share/man/man1/ssebench.1' \
	  '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/ssebench' \
	  '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ssebench' \
	  '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ssebench.fish'

format:
	$(SWIFT) format format --in-place --parallel --recursive Package.swift Sources Tests

lint:
	$(SWIFT) format lint --parallel --recursive Package.swift Sources Tests

clean:
	rm -rf .build
