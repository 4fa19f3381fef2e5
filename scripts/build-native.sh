#!/usr/bin/env bash
# Builds the addon and the guest agent into packages/native/artifacts, and holds them to their bounds.
# cargo decides what is fresh; an artifact that did not change keeps its date.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/env.sh

target=x86_64-unknown-linux-gnu
artifacts="$native/artifacts"
addon_bound_mib=10 agent_bound_mib=3

die() {
  echo "build-native: $*" >&2
  exit 1
}

use_cargo || die "Rust $(rust_wanted) or newer is missing; scripts/setup.sh gets it or says how."
mkdir -p "$artifacts"
cd "$native"
# In CI the committed Cargo.lock is the truth; elsewhere a changed manifest may update it.
locked=()
[ "${CI:-}" != true ] || locked=(--locked)

# place BUILT ARTIFACT: beside and renamed, since a running process may have the old file mapped.
place() {
  if ! cmp -s "$1" "$2"; then
    cp "$1" "$2.$$" && mv -f "$2.$$" "$2"
  fi
}

# hold NAME FILE BOUND_MIB
hold() {
  local mib
  mib=$(stat -c %s "$2" | LC_ALL=C awk '{ printf "%.2f", $1 / 1048576 }')
  printf '%-6s %6s MiB of %s MiB\n' "$1" "$mib" "$3"
  LC_ALL=C awk "BEGIN { exit !($mib <= $3) }" ||
    die "the $1 has $mib MiB and its bound is $3 MiB; find what grew (cargo bloat) or argue for a new bound."
}

cargo build --release ${locked[@]+"${locked[@]}"} -p boxlab-node
place target/release/libboxlab_node.so "$artifacts/boxlab.linux-x64-gnu.node"

# With --target the flags reach only what runs in the guest, and cargo keeps the two builds apart.
RUSTFLAGS='-C target-feature=+crt-static' \
  cargo build --release ${locked[@]+"${locked[@]}"} --target "$target" -p boxlab-agent
place "target/$target/release/boxlab-agent" "$artifacts/boxlab-agent"

# An interpreter in the program headers means the dynamic loader, which no bare guest has.
if LC_ALL=C readelf --program-headers --wide "$artifacts/boxlab-agent" | grep -q INTERP; then
  die 'the agent is not static: it asks for a dynamic loader; look for a crate that links a shared library.'
fi
hold addon "$artifacts/boxlab.linux-x64-gnu.node" "$addon_bound_mib"
hold agent "$artifacts/boxlab-agent" "$agent_bound_mib"
