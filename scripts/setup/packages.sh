# The distribution's packages: what is missing is installed where we may, else the command to type is printed.
# shellcheck shell=bash

check_machine() {
  [ "$(uname -sm)" = 'Linux x86_64' ] ||
    fail "boxlab runs on Linux on x86-64 and this machine is $(uname -sm); use such a machine."
  detail "$(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release 2>/dev/null), Linux $(uname -r)"
}

is_installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q ' installed$'; }

# A C compiler, and the static libc that the agent is linked with.
links_statically() { has cc && [ -e "$(cc -print-file-name=libc.a)" ]; }

# A line for each thing that is missing: Debian's packages for it, a tab, and what other systems call it.
missing_tools() {
  has qemu-system-x86_64 || printf 'qemu-system-x86\tqemu-system-x86_64\n'
  has xz || printf 'xz-utils\txz\n'
  has cpio || printf 'cpio\tcpio\n'
  links_statically || printf 'gcc libc6-dev\tcc with a static libc (libc.a)\n'
  has npm || printf 'nodejs npm\tnpm\n'
  has apt-get || return 0
  [ -s /etc/ssl/certs/ca-certificates.crt ] || printf 'ca-certificates\t\n'
  # The dynamic busybox of a desktop excludes the static one. It stays: bare boxes then do without a shell.
  is_installed busybox || is_installed busybox-static || printf 'busybox-static\t\n'
  # A first bare box has no image.
  [ "${npm_lifecycle_event:-}" = quickstart ] || missing_image_tools
}

# What images are made with (skopeo, mmdebstrap, erofs-utils, decompressors), looked into with (e2fsprogs), boot with (kmod), and tested
# with (a registry, xattrs, a certificate, the firmware of UEFI machines).
missing_image_tools() {
  local package
  for package in skopeo mmdebstrap erofs-utils bzip2 zstd e2fsprogs kmod docker-registry attr openssl ovmf; do
    is_installed "$package" || printf '%s\t\n' "$package"
  done
}

# Root, or a sudo that asks nothing.
may_install() { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# True without package lists, or with lists that nobody has refreshed for a week: downloads from them answer 404.
lists_are_stale() {
  [ -z "$(find /var/lib/apt/lists -maxdepth 1 -name '*Packages*' -print -quit 2>/dev/null)" ] ||
    [ -n "$(find /var/lib/apt/lists/partial -maxdepth 0 -mtime +7 2>/dev/null)" ]
}

install_packages() {
  local gates=$1 wanted
  has apt-get || {
    wanted=$(missing_tools | cut -f2 | paste -sd, | sed 's/,/, /g')
    [ -z "$wanted" ] ||
      fail "This system has no apt-get; install these with its own package manager and run this again: $wanted."
    detail 'nothing missing'
    return
  }
  # The lists serve the kernel download too, so empty ones are fetched even when every package is there.
  if may_install && lists_are_stale; then
    apt_get update || echo 'The package lists could not be refreshed; going on with those that are there.'
  fi
  # shellcheck disable=SC2046
  set -- $(missing_tools | cut -f1) $(missing_rust_packages "$gates")
  if [ $# -eq 0 ]; then
    detail 'nothing missing'
    return
  fi
  may_install || fail "These packages are missing and only root can install them; type this, then run the set-up again:
  sudo apt-get update && sudo apt-get install -y --no-install-recommends $*"
  # --no-remove: a set-up never takes away what somebody else installed.
  apt_get install -y --no-install-recommends --no-remove "$@" ||
    { apt_get update && apt_get install -y --no-install-recommends --no-remove "$@"; } ||
    fail "apt-get could not install $*; its own words are above."
  detail "installed $*"
}
