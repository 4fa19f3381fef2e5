# The Rust toolchain: one that is new enough is taken as it is, else the distribution's where it has one.
# shellcheck shell=bash

rustup_line="curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile default"

# Debian names them twice: the ordinary ones, and on a stable release newer ones for building web browsers.
rust_package_sets='cargo rustc rustfmt rust-clippy
cargo-web rustc-web rustfmt-web rust-web-clippy'

has_gate_tools() { cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; }

# The packages that bring what is missing; nothing where nothing is missing or the distribution cannot help.
missing_rust_packages() {
  local gates=$1 cargo_package rustc_package others version owner=''
  if use_cargo; then
    [ "$gates" = yes ] && ! has_gate_tools || return 0
    owner=$(dpkg-query -S "$(command -v cargo)" 2>/dev/null | cut -d: -f1) || return 0
    [ -n "$owner" ] || return 0
  fi
  while read -r cargo_package rustc_package others; do
    [ -z "$owner" ] || [ "$owner" = "$cargo_package" ] || continue
    version=$(LC_ALL=C apt-cache policy "$cargo_package" 2>/dev/null | sed -n 's/^ *Candidate: \([0-9][0-9.]*\).*/\1/p')
    at_least "$(rust_wanted)" "$version" || continue
    # shellcheck disable=SC2046,SC2086
    printf '%s\n' "$cargo_package" "$rustc_package" $([ "$gates" = no ] || echo $others)
    return 0
  done <<<"$rust_package_sets"
}

check_rust() {
  local gates=$1
  use_cargo || fail "Rust $(rust_wanted) or newer is missing and the distribution has none; this line gets one:
  $rustup_line"
  has cc || fail 'cargo needs a C linker and there is no cc; install gcc.'
  [ "$gates" = no ] || has_gate_tools ||
    fail "The checks need rustfmt and clippy beside $(command -v cargo); with rustup: rustup component add rustfmt clippy"
  detail "$(cargo --version | cut -d' ' -f1,2), $(command -v cargo)"
}
