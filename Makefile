# The targets people use. What they do stands in the scripts they name.
SHELL := /bin/bash
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)

.PHONY: help build demo demo-replay screenshots test test-unit test-e2e test-long lint bench cluster cluster-down clean

help: ## Show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

build: ## Build bin/kubectl-backlog
	go build -ldflags '-X main.version=$(VERSION)' -o bin/kubectl-backlog ./cmd/kubectl-backlog

demo: ## The main job on this machine: real listeners, a bounded burst, and top --local
	@test/demo/run.sh

demo-replay: build ## The screen over a recording of a real cluster: no cluster, no load, any system
	@bin/kubectl-backlog top --replay docs/incident.jsonl.gz

screenshots: ## Make the README's pictures and recording of a real run (root, Linux, tmux)
	@test/screenshots/run.sh

test: ## Everything: lint, unit, script, real-kernel and real-cluster tests
	@test/run.sh all

test-unit: ## Lint, unit, script and real-kernel tests, no cluster
	@test/run.sh unit

test-e2e: ## Real-cluster tests alone (E2E_KUBECONFIG=... for a cluster of your own)
	@test/run.sh e2e

test-long: ## What takes longer: slow linters, other versions of Kubernetes, long fuzzing
	@test/run.sh long

lint: ## go vet, staticcheck, gofumpt
	@hack/lint.sh

bench: ## What looking costs: Go benchmarks, then the real cluster's table (a quiet machine)
	@test/run.sh bench

cluster: ## Start a real one-node Kubernetes (root, Linux) and load the test images
	@test/images/build.sh && test/cluster/up.sh

cluster-down: ## Stop it
	@test/cluster/down.sh

clean: ## Remove what was built here
	rm -rf bin dist
