#!/usr/bin/env bash
# The gates: format, lint, types, documentation, rustfmt, clippy, and last the Rust tests.
#   scripts/check.sh                        every gate, also after one has failed
#   scripts/check.sh --without-cargo-test   for a caller that runs `cargo test` itself
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
. scripts/steps.sh

cargo_tests=yes
[ "${1:-}" != --without-cargo-test ] || cargo_tests=no

[ -n "${BOXLAB_SET_UP:-}" ] || bash scripts/setup.sh --gates --no-build
use_cargo
use_workspace_tools

rust() { cd "$native" && cargo "$@"; }

failed=0
gate() {
  step "$@"
  [ "$step_code" -eq 0 ] || failed=$((failed + 1))
}

gate format oxfmt --check --no-error-on-unmatched-pattern
gate lint oxlint --type-aware --deny-warnings
gate types tsc -b
gate docs node scripts/docs-check.ts
gate rustfmt rust fmt --all --check
gate clippy rust clippy --workspace --all-targets -- -D warnings
[ "$cargo_tests" = no ] || gate cargo-test rust test --workspace --no-fail-fast

if [ "$failed" -ne 0 ]; then
  echo "$failed of the gates failed; their output is above." >&2
  exit 1
fi
