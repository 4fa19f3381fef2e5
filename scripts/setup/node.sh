# npm's packages, among them the Node that everything here runs on.
# shellcheck shell=bash disable=SC2154 # root comes from env.sh

node_wanted=22.22

workspace_node_version() { "$root/node_modules/.bin/node" --version 2>/dev/null | tr -d v; }

# Installed from this very lock file. A copy of its digest decides, since a checkout changes dates without a change;
# after an `npm install` by hand, which knows nothing of the digest, npm's own note of what it installed does.
node_packages_are_fresh() {
  local note="$root/node_modules/.package-lock.json" stamp="$root/node_modules/.boxlab-lock"
  [ -f "$note" ] || return 1
  at_least "$node_wanted" "$(workspace_node_version)" || return 1
  [ "$(lock_digest)" != "$(cat "$stamp" 2>/dev/null)" ] || return 0
  # npm writes both files within the same moment, in either order.
  [ "$(($(stat -c %Y "$note") + 5))" -ge "$(stat -c %Y "$root/package-lock.json")" ]
}

lock_digest() { sha256sum "$root/package-lock.json" | cut -d' ' -f1; }

install_node_packages() {
  if node_packages_are_fresh; then
    detail "nothing missing, Node $(workspace_node_version)"
    return
  fi
  # Ours is in the folder that npm is about to replace, so npm runs on the machine's own Node.
  PATH=$(printf '%s' "$PATH" | tr : '\n' | grep -vxF "$root/node_modules/.bin" | paste -sd:)
  has npm || fail 'npm is missing; install it (on Debian: apt-get install nodejs npm) and run this again.'
  at_least "$node_wanted" "$(node --version | tr -d v)" || borrow_node
  # The binary of the package `node` arrives by its install script, whatever the user's npm settings say.
  npm ci --ignore-scripts=false --include=dev --include=optional --no-audit --no-fund ||
    fail 'npm ci failed; its own words are above, and a second try helps where the network was the reason.'
  at_least "$node_wanted" "$(workspace_node_version)" || run_node_install_script
  at_least "$node_wanted" "$(workspace_node_version)" ||
    fail "node_modules/.bin/node does not answer with $node_wanted or newer; run: npm rebuild node"
  native_parts_answer ||
    fail 'npm left out the native part of a tool (its words are above); remove node_modules and run this again.'
  lock_digest >"$root/node_modules/.boxlab-lock"
  detail "npm ci, Node $(workspace_node_version)"
}

locked_node_version() {
  sed -n '/^    "node_modules\/node": {/,/}/s/^ *"version": "\(.*\)".*/\1/p' "$root/package-lock.json"
}

# npm leaves out, without a word, an optional package whose `engines` exclude the Node that it runs on, and the native
# parts of our tools exclude Debian's. So an old npm fetches a new Node first, and then runs on that.
borrow_node() {
  borrowed=$(mktemp -d)
  trap 'rm -rf "$borrowed"' EXIT
  npm install --prefix "$borrowed" --ignore-scripts=false --no-save --no-audit --no-fund "node@$(locked_node_version)" ||
    fail 'npm could not fetch Node; its own words are above.'
  PATH="$borrowed/node_modules/.bin:$PATH"
  hash -r
}

# An npm that does not run install scripts without leave still has put the script there.
run_node_install_script() (
  cd "$root/node_modules/node" && node installArchSpecificPackage.js
) || true

native_parts_answer() (
  use_workspace_tools
  oxfmt --version && oxlint --version && rolldown --version
)
