# Sourced after env.sh: named steps with their time.
# shellcheck shell=bash
#
# step NAME COMMAND...       output kept in a log, shown only when the step fails
# loud_step NAME COMMAND...  output goes straight to the terminal
# Both put the exit code into step_code and never end the script themselves. A command may call `detail TEXT` for the
# step's line and `fail SENTENCE` to end with one sentence. With BOXLAB_STEPS set, `NAME<TAB>SECONDS<TAB>CODE` is
# appended to that file.

step_code=0
step_log=''

detail() { printf '%s' "$*" >"$step_log.detail"; }

fail() {
  printf '%s\n' "$*" >"$step_log.sentence"
  exit 1
}

# limit SECONDS COMMAND...: a bound in CI only, where nobody is there to press Ctrl-C.
limit() {
  local seconds=$1
  shift
  if [ "${CI:-}" = true ]; then timeout --kill-after=30 "$seconds" "$@"; else "$@"; fi
}

step() { run_step quiet "$@"; }
loud_step() { run_step loud "$@"; }

run_step() {
  local how=$1 name=$2 began seconds sign
  shift 2
  step_log=$(mktemp "${TMPDIR:-/tmp}/boxlab-step.XXXXXX")
  began=${EPOCHREALTIME/[.,]/}
  [ ! -t 1 ] || [ "$how" = loud ] || printf '… %s\r' "$name"
  # A subshell of its own keeps errexit alive inside COMMAND; a condition around it would switch it off.
  set +e
  if [ "$how" = loud ]; then
    (
      set -e
      "$@"
    )
  else
    (
      set -e
      "$@"
    ) >"$step_log" 2>&1 </dev/null
  fi
  step_code=$?
  set -e
  seconds=$(LC_ALL=C awk "BEGIN { printf \"%.1f\", (${EPOCHREALTIME/[.,]/} - $began) / 1e6 }")
  sign='ok  '
  [ "$step_code" -eq 0 ] || sign=FAIL
  if [ "$step_code" -ne 0 ] && [ "$how" = quiet ]; then tail -n 200 "$step_log"; fi
  printf '%s %-16s %7s s%s\n' "$sign" "$name" "$seconds" "$(sed 's/^/  /' "$step_log.detail" 2>/dev/null)"
  if [ -s "$step_log.sentence" ]; then cat "$step_log.sentence" >&2; fi
  rm -f "$step_log" "$step_log.detail" "$step_log.sentence"
  [ -z "${BOXLAB_STEPS:-}" ] || printf '%s\t%s\t%s\n' "$name" "$seconds" "$step_code" >>"$BOXLAB_STEPS"
}
