#!/usr/bin/env bash
# Takes a Debian-like machine from a fresh clone to a built checkout; run again, it takes seconds.
#   scripts/setup.sh               packages, Rust, Node and its packages, addon and agent, TypeScript
#   scripts/setup.sh --gates       the same, and what the checks need on top (rustfmt, clippy)
#   scripts/setup.sh --docker      the same, and a container engine for the tests of Dockerfile images
#   scripts/setup.sh --no-build    stop before the builds
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh
. scripts/steps.sh
. scripts/setup/packages.sh
. scripts/setup/rust.sh
. scripts/setup/node.sh
. scripts/setup/docker.sh

gates=no docker=no build=yes
for argument in "$@"; do
  case $argument in
    --gates) gates=yes ;;
    --docker) docker=yes ;;
    --no-build) build=no ;;
    *)
      echo "setup: $argument is not an option; the options are --gates, --docker and --no-build." >&2
      exit 2
      ;;
  esac
done

must() {
  step "$@"
  [ "$step_code" -eq 0 ] || exit 1
}

build_typescript() {
  use_workspace_tools
  # The packages only (the harness brings the other two): a type error in a test is the checks' business and must not keep the tests from running.
  tsc -b packages/harness ||
    fail "The TypeScript packages do not compile; the errors are above."
}

build_native() {
  bash scripts/build-native.sh || fail "The addon or the agent could not be built; the reason is above."
  detail "addon $(size_mib "$native/artifacts/boxlab.linux-x64-gnu.node"), agent $(size_mib "$native/artifacts/boxlab-agent")"
}

size_mib() { stat -c %s "$1" | LC_ALL=C awk '{ printf "%.2f MiB", $1 / 1048576 }'; }

# Two set-ups of one checkout take turns; the lock is on the folder itself and leaves no file.
exec 9<scripts
if ! flock --nonblock 9; then
  echo 'Another set-up of this checkout is running; waiting for it.'
  flock 9
fi

must machine check_machine
must packages install_packages "$gates"
use_cargo || true
must rust check_rust "$gates"
must node install_node_packages
# Without it everything else can still be built and tested.
[ "$docker" = no ] || step docker install_docker
if [ "$build" = yes ]; then
  must native build_native
  must typescript build_typescript
fi
