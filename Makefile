# Two commands: `make` builds everything and the site; `make test` checks everything.
# What each needs beforehand stands at the top of README.md.

SHELL := /bin/bash
ADDR ?= 127.0.0.1:8080
BASE ?= /
OUT ?= public
GOFLAGS_STATIC := CGO_ENABLED=0
LDFLAGS := -s -w

.PHONY: all site measure gen wasm node dist lint test test-full lighthouse bench bench-client bench-gen clean

# On a terminal the site is built and served; elsewhere it is built and its folder printed.
all: measure gen wasm node
	@if [ -t 1 ]; then exec bin/gen --out $(OUT) --base $(BASE) --serve $(ADDR); \
	else exec bin/gen --out $(OUT) --base $(BASE); fi

site: measure gen wasm node
	bin/gen --out $(OUT) --base $(BASE)

measure:
	$(GOFLAGS_STATIC) go build -buildvcs=auto -trimpath -ldflags='$(LDFLAGS)' -o bin/measure ./cmd/measure

gen:
	$(GOFLAGS_STATIC) go build -buildvcs=auto -trimpath -ldflags='$(LDFLAGS)' -o bin/gen ./cmd/gen

# The runtime is most of a module; built without inlining it is a twentieth smaller.
WASM_GCFLAGS := runtime=-l

wasm:
	for module in lean full; do \
	  GOOS=wasip1 GOARCH=wasm go build -buildvcs=false -buildmode=c-shared -trimpath -gcflags='$(WASM_GCFLAGS)' -ldflags='$(LDFLAGS)' -o bin/$$module.wasm ./wasm/$$module || exit 1; \
	done

# Browser-side and checking packages, exactly as the lock file says; nothing of them runs at install.
node: node_modules/.package-lock.json

node_modules/.package-lock.json: package.json package-lock.json
	@command -v npm >/dev/null || { echo "make: npm is missing: install Node 20.19 or newer" >&2; exit 1; }
	npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

# Static binaries that run on any Linux of their kind, with checksums.
dist:
	@rm -rf dist && mkdir -p dist
	for arch in amd64 arm64; do \
	  CGO_ENABLED=0 GOOS=linux GOARCH=$$arch go build -buildvcs=auto -trimpath -ldflags='$(LDFLAGS)' -o dist/measure-linux-$$arch ./cmd/measure || exit 1; \
	done
	cd dist && sha256sum measure-linux-* >SHA256SUMS
	@cat dist/SHA256SUMS

lint:
	@bad=$$(gofmt -l cmd internal wasm data bench content); if [ -n "$$bad" ]; then echo "gofmt wants to change: $$bad" >&2; exit 1; fi
	go vet ./...
	GOOS=wasip1 GOARCH=wasm go vet ./wasm/...
	go tool staticcheck ./...
	npx --no-install tsc --noEmit -p site/tsconfig.json

test:
	@.ci/needs
	@$(MAKE) --no-print-directory site
	@$(MAKE) --no-print-directory lint
	go test ./...

# Slower: Lighthouse, the race detector over everything, clients and servers killed at many
# moments, then each parser fuzzed for a while.
test-full: test lighthouse
	go test -race ./...
	go test -count=1 -run '^TestKilled' ./cmd/measure -kills 50
	go test -count=1 -run '^TestFullChecksRows' ./wasm -every
	@for p in $$(go list ./internal/...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do go test -run '^$$' -fuzz "^$$f$$" -fuzztime 30s $$p || exit 1; done; \
	done

# Scores of the kinds of page that readers open first, from a site under a sub-path, served
# as GitHub Pages does. Lighthouse has a folder and a lock file of its own: 180 MB that
# nothing else needs.
LIGHTHOUSE := .ci/lighthouse/node_modules/.package-lock.json

lighthouse: measure gen wasm node $(LIGHTHOUSE)
	bin/gen --out .cache/lighthouse --base /rowproof/
	CHROME_PATH=$$(command -v chromium || command -v chromium-browser || command -v google-chrome) node .ci/lighthouse/check.mjs .cache/lighthouse /rowproof/

$(LIGHTHOUSE): .ci/lighthouse/package.json .ci/lighthouse/package-lock.json
	npm ci --prefix .ci/lighthouse --ignore-scripts --no-audit --no-fund
	@touch $@

# This client beside its peers, against one truth server. Peers are installed into
# .cache/clients, and each run is appended to .cache/clients/results.jsonl. PEERS, LEVELS
# and LOADS choose some of them (PEERS=ours-ring,vllm LEVELS=1,64 LOADS=quiet).
bench-client: measure
	go build -o bin/clients ./bench/clients
	bin/clients --peers '$(PEERS)' --levels '$(LEVELS)' --loads '$(LOADS)' --rounds $(or $(ROUNDS),1)

# gen beside Hugo, which is built from its module into .cache/hugo: 1,000 and 10,000 pages
# (PAGES=1000 chooses), with time, peak memory and their ratios.
bench-gen: gen wasm node
	go build -o bin/bench-gen ./bench/gen
	bin/bench-gen $(if $(PAGES),--pages $(PAGES))

bench:
	go test -run '^$$' -bench . -benchtime 1x ./...

clean:
	rm -rf bin dist $(OUT) .cache
