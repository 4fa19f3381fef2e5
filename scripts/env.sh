# Sourced by every script here: where the checkout is, and which tools it takes.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
native="$root/packages/native"
export HOME="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"

has() { command -v "$1" >/dev/null 2>&1; }

# at_least WANTED ACTUAL: dotted versions, compared number by number.
at_least() { [ -n "$2" ] && [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# The oldest Rust that builds the crates is written once, in their manifest.
rust_wanted() { sed -n 's/^rust-version *= *"\(.*\)"/\1/p' "$native/Cargo.toml"; }

# The version of a cargo binary; nothing where it does not run (a rustup proxy without a toolchain).
cargo_version() { "$1" --version 2>/dev/null | cut -d' ' -f2; }

# Puts the first cargo that is new enough in front: the one on PATH, rustup's, the distribution's.
use_cargo() {
  local candidate wanted
  wanted=$(rust_wanted)
  for candidate in "$(command -v cargo || true)" "$HOME/.cargo/bin/cargo" /usr/bin/cargo; do
    [ -x "$candidate" ] || continue
    at_least "$wanted" "$(cargo_version "$candidate")" || continue
    [ "$candidate" = "$(command -v cargo || true)" ] || export PATH="${candidate%/*}:$PATH"
    return 0
  done
  return 1
}

# The workspace's own Node and tools come before the machine's.
use_workspace_tools() { export PATH="$root/node_modules/.bin:$PATH"; }
