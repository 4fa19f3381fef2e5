#!/usr/bin/env bash
# A container engine for the tests of Dockerfile images.
#   source it for install_docker                 (after env.sh, steps.sh and packages.sh)
#   scripts/setup/docker.sh run FOLDER           an engine in the foreground: everything of it lies in FOLDER, and it
#                                                listens at FOLDER/docker.sock alone; ended by SIGTERM or with its parent
# shellcheck shell=bash

# An engine that answers is taken as it is; nothing is installed beside it.
has_engine() {
  case ${DOCKER_HOST:-} in
    unix://*) [ -S "${DOCKER_HOST#unix://}" ] ;;
    '') [ -S /var/run/docker.sock ] ;;
    *) true ;;
  esac
}

install_docker() {
  if has_engine; then
    detail 'an engine is there'
    return
  fi
  if has dockerd || [ -x /usr/sbin/dockerd ]; then
    detail 'nothing missing'
    return
  fi
  has apt-get || fail 'There is no container engine and no apt-get; install Docker, or start Podman and set DOCKER_HOST.'
  may_install || fail 'The tests of Dockerfile images need a container engine and only root can install one; type this:
  sudo apt-get install -y --no-install-recommends docker.io'
  apt_get install -y --no-install-recommends --no-remove docker.io ||
    { apt_get update && apt_get install -y --no-install-recommends --no-remove docker.io; } ||
    fail 'apt-get could not install docker.io; its own words are above.'
  detail 'installed docker.io'
}

# The storage driver is left to dockerd: overlay2 where it works, else vfs, which works everywhere. The host's packet filter
# and forwarding stay as they are: ports are published by a proxy process, and the containers have no way out.
run_docker() {
  local folder=$1
  export PATH="$PATH:/usr/sbin:/sbin"
  mkdir -p "$folder"
  # A machine without an init may have no cgroup mounted, and dockerd wants one.
  if ! grep -q ' cgroup2\? ' /proc/mounts && [ -d /sys/fs/cgroup ]; then
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
  fi
  exec setpriv --pdeathsig TERM -- dockerd --host "unix://$folder/docker.sock" --data-root "$folder/data" \
    --exec-root "$folder/run" --pidfile "$folder/pid" --iptables=false --ip-forward=false
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  set -euo pipefail
  if [ "${1:-}" != run ] || [ $# -ne 2 ]; then
    echo 'docker: this script is run as: docker.sh run FOLDER' >&2
    exit 2
  fi
  run_docker "$2"
fi
