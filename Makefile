# The commands of this repository; `make` alone lists them. The work is done by small scripts in scripts/.

FUZZTIME ?= 10s
export FUZZTIME
# Flags of "postrider bench" for make bench, such as BENCH='--seconds 5 --profile profiles'.
BENCH ?=

.DEFAULT_GOAL := help
.PHONY: help build test test-load test-clients screenshots generate lint verify bench bench-go fuzz torture clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build bin/postrider
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

test: ## run every test under the race detector (scripts/test, which also installs what they need)
	scripts/test

test-load: ## run the load tests, which measure and take minutes
	scripts/test-load

test-clients: ## use the server through Google's libraries for Node, Python and Java, those that this machine can run
	scripts/test-clients

screenshots: ## take a picture of every page, wide and narrow, light and dark, into screenshots/
	scripts/screenshots

generate: ## write the generated files again
	scripts/generate

lint: ## check form, mistakes, sizes and import walls
	scripts/lint

verify: ## all that can be checked without running tests: generated files, vet, lint, import walls, cross-builds
	scripts/generate --check
	go vet -tags load ./...
	scripts/lint
	scripts/walls-test
	scripts/cross

bench: build ## measure a server beside what this machine can do, in one table
	bin/postrider bench $(BENCH)

bench-go: ## run the Go benchmarks of single parts
	go test -run '^$$' -bench . -benchmem ./...
	go -C server/conformance test -run '^$$' -bench . -benchtime 2000x .

fuzz: ## run each fuzz target for FUZZTIME (10s)
	scripts/fuzz

torture: ## run random operations on memory and Redis side by side for TORTURE seconds (3600) from SEED (1)
	scripts/torture

clean: ## remove what was built
	rm -rf bin postrider
	find . -path ./.git -prune -o \( -name '*.test' -o -name '*.prof' -o -name '*.out' \) -type f -exec rm -f {} +
