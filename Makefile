# Every target does the set-up that it needs first (see scripts/setup.sh).
#
#   make run ARGS="-quick -cell lstm"               arguments for the program
#   make test ARGS="-run 'TestGRU|TestLSTM' -v"   arguments for go test (quoted for the shell)

SHELL := /bin/bash
WITH := ./scripts/setup.sh
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ARGS :=

# The packages in which threads meet.
RACE := ./mlx/... ./rnn/...

.PHONY: help run forecast test race sanitize bench check generate setup clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

run: ## train a GRU on text (examples/gru)
	@$(WITH) go run ./examples/gru $(ARGS)

forecast: ## forecast a seasonal series (examples/forecast)
	@$(WITH) go run ./examples/forecast $(ARGS)

test: ## all tests
	@$(WITH) go test -timeout 45m $(ARGS) ./...

race: ## tests of the packages with threads, under the race detector
	@$(WITH) go test -race -timeout 60m $(ARGS) $(RACE)

# The collector of leaks would report what Go's runtime keeps on purpose.
sanitize: ## tests of the native code, with checks of addresses and undefined behaviour
	@ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 $(WITH) bash -c 'CGO_CXXFLAGS="-O1 -g -fsanitize=undefined" \
		CGO_LDFLAGS="$$CGO_LDFLAGS -fsanitize=undefined" go test -asan -timeout 60m $(ARGS) ./mlx'

bench: ## all benchmarks
	@$(WITH) go test -timeout 60m -run '^$$' -bench . $(ARGS) ./...

check: ## formatting, go vet, staticcheck, generated files
	@unformatted="$$(gofmt -l .)"; [[ -z $$unformatted ]] || { echo "run gofmt -w on: $$unformatted" >&2; exit 1; }
	@$(WITH) go vet ./...
	@$(WITH) go run $(STATICCHECK) ./...
	@$(WITH) ./scripts/check-generated.sh

generate: ## make the generated files again
	@$(WITH) go generate ./...

setup: ## only the set-up; prints the flags
	@$(WITH)

clean: ## remove what the examples and the tests left here
	@go clean ./...
	@rm -rf out
