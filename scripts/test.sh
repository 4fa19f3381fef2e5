#!/usr/bin/env bash
# Set-up, then every test there is: all vitest projects and `cargo test`. Ends with 'N passed, N failed, N skipped'.
# What the runners reported stays in .reports/.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
. scripts/steps.sh

reports="$root/.reports"
mkdir -p "$reports"
if [ -z "${BOXLAB_STEPS:-}" ]; then
  export BOXLAB_STEPS="$reports/steps.tsv"
  rm -f "$BOXLAB_STEPS"
fi
# A report of an earlier run must never speak for a runner that crashed in this one.
rm -f "$reports/vitest.json" "$reports/cargo-test.log"

[ -n "${BOXLAB_SET_UP:-}" ] || bash scripts/setup.sh --docker
use_cargo
use_workspace_tools

run_cargo_test() {
  cd "$native"
  limit 900 cargo test --workspace --no-fail-fast 2>&1 | tee "$reports/cargo-test.log"
}

run_vitest() { limit 1320 vitest run --reporter=default --reporter=json --outputFile.json="$reports/vitest.json"; }

# Both run to their end whatever the other says; the sum decides.
loud_step cargo-test run_cargo_test
loud_step vitest run_vitest

# CI prints the sum last, after its table of times.
[ -n "${BOXLAB_SUM_LATER:-}" ] || node scripts/summary.ts
