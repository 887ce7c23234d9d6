# Everything a developer or a CI machine does with this repository.
# Only Go, git and make are needed; `make help` lists the targets.

EXAMPLE  ?= examples/tool-router/flow.yaml
ARGS     ?=
FUZZTIME ?= 30s
CHAOS    ?= 2m
LDFLAGS  ?= -s -w
VERSION  ?= v0.0.0
FLOWS    := $(wildcard examples/*/flow.yaml)

# The race detector needs a C compiler; without one the tests run all the same. It leaves out
# SQLite, which is translated from C: its programs would take a third longer. Without GORACE
# every test program would sleep for a second before it exits.
RACE := $(shell test "$$(go env CGO_ENABLED)" = 1 && command -v $$(go env CC) >/dev/null 2>&1 && echo '-race -gcflags=modernc.org/...=-race=false')

# Tests also wait for programs and clocks: test one package more than there are processors.
JOBS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: dev-temporal vscode dist page page-check help build run test lint check bench fuzz chaos clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build bin/graphrun, one static binary
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o bin/graphrun ./cmd/graphrun

run: ## run a flow: make run EXAMPLE=path/to/flow.yaml ARGS='-i key=value'
	go run ./cmd/graphrun run $(EXAMPLE) $(ARGS)

test: ## run the tests: short searches, and the race detector where there is a C compiler
	@test -n '$(RACE)' || echo 'make: no C compiler, testing without the race detector' >&2
	GORACE=atexit_sleep_ms=0 go test $(RACE) -vet=off -p $(JOBS) ./...

# With the flags of build: then packages are compiled once for both.
lint: ## formatting, go vet, staticcheck
	@unformatted=$$(go tool gofumpt -l .); \
	if [ -n "$$unformatted" ]; then \
		echo 'not formatted (go tool gofumpt -w .):' >&2; echo "$$unformatted" >&2; exit 1; \
	fi
	CGO_ENABLED=0 GOFLAGS=-trimpath go vet ./...
	CGO_ENABLED=0 GOFLAGS=-trimpath go tool staticcheck ./...

check: lint test build ## what CI runs: lint, tests, every example validated and tested
ifneq ($(FLOWS),)
	bin/graphrun validate --strict $(FLOWS)
	bin/graphrun test examples internal/templates
endif

page: ## build the page of web into internal/page (needs node and .ci/browser)
	cd web && npm run --silent check && npm run --silent build

page-check: ## the page that is committed is what web gives
	cd web && npm run --silent check && npm run --silent build -- --check

bench: ## every benchmark once, with allocations
	go test -run '^$$' -bench . -benchmem ./...

fuzz: ## every fuzz target for FUZZTIME
	@set -e; for package in $$(go list ./...); do \
		for target in $$(go test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

chaos: ## disturb random runs for CHAOS, with the race detector where there is a C compiler
	GRAPHRUN_CHAOS=$(CHAOS) go test $(RACE) -count=1 -timeout 24h -v -run '^TestChaos$$' ./internal/chaos

vscode: ## package the extension for VS Code (needs node)
	cd editors/vscode && { [ -d node_modules ] || npm ci --no-audit --no-fund --ignore-scripts; } && npm run package

dist: ## every package of a release, in dist: make dist VERSION=v0.1.0
	cd packaging && go run . -version $(VERSION) -out ../dist

dev-temporal: build ## a real Temporal server on this machine, in bin, and a worker
	cd temporal && CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o ../bin/graphrun-temporal ./cmd/graphrun-temporal
	cd temporal/internal/devserver && go build -trimpath -o ../../../bin/temporal-devserver .
	bin/temporal-devserver --db bin/temporal.db --port 7233 & \
	trap 'kill $$!' EXIT; sleep 5; bin/graphrun worker

clean: ## remove what the targets above made
	rm -rf bin
