# shellcheck shell=bash
# How the scripts in bin/ talk: steps with their time, progress while they last, and failures in one line.
# Sourced, not run. It changes to the project's directory; nothing here installs or builds.

cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

readonly LOG_DIR="_build/log"
mkdir -p "$LOG_DIR"

# Elixir wants UTF-8, and a fresh machine has the C locale. Where a locale is named but not installed, too.
if [ "$(locale charmap 2>/dev/null)" != "UTF-8" ]; then
  export LANG=C.UTF-8 LC_ALL=C.UTF-8
fi
case " ${ELIXIR_ERL_OPTIONS:-} " in
  *" +fnu "*) ;;
  *) export ELIXIR_ERL_OPTIONS="${ELIXIR_ERL_OPTIONS:+$ELIXIR_ERL_OPTIONS }+fnu" ;;
esac

# Nobody may be there to answer a question.
export DEBIAN_FRONTEND=noninteractive

say() { printf '%s\n' "$*"; }

# fail MESSAGE: the one line that says what went wrong, and the end.
fail() {
  printf 'bin/%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# log_of LABEL: the file that takes the output of a step.
log_of() {
  local name
  name=$(printf '%s' "$1" | tr -cs 'A-Za-z0-9' '-' | sed 's/^-*//; s/-*$//')
  printf '%s/%s.log' "$LOG_DIR" "$name"
}

# Says every 15 seconds that LABEL is still at work, until it is killed or the script is gone.
sign_of_life() {
  local label=$1 started=$SECONDS next=15
  while sleep 1 && kill -0 "$$" 2>/dev/null; do
    if [ $((SECONDS - started)) -ge "$next" ]; then
      say "  ... $label: $next s"
      next=$((next + 15))
    fi
  done
}

# quietly LABEL COMMAND...: runs it with its output in a log. Returns the command's status; its time is in
# $SECONDS_TAKEN.
quietly() {
  local label=$1 log started ticker status=0
  shift
  log=$(log_of "$label")
  started=$SECONDS
  # The command itself stays in the foreground, where an interrupt reaches it.
  sign_of_life "$label" &
  ticker=$!
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$ticker" 2>/dev/null
  wait "$ticker" 2>/dev/null
  SECONDS_TAKEN=$((SECONDS - started))
  return "$status"
}

# visibly LABEL COMMAND...: runs it with its output on the screen and in a log. Returns the command's status.
visibly() {
  local label=$1 log started status=0
  shift
  log=$(log_of "$label")
  started=$SECONDS
  "$@" </dev/null 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  SECONDS_TAKEN=$((SECONDS - started))
  return "$status"
}

# at_most MINUTES COMMAND...: ends it, with all that it has started, when it takes longer; 0: never. Returns the command's
# status, or 124 if it was ended.
at_most() {
  local minutes=$1 started=$SECONDS status=0
  shift
  if [ "$minutes" = 0 ]; then
    "$@"
    return
  fi
  timeout --kill-after=30 "${minutes}m" "$@" &
  # For all of it to be ended together it is not in the foreground of the terminal: an interrupt is passed on from here.
  trap 'kill "$!" 2>/dev/null' INT TERM HUP
  wait "$!" || status=$?
  # Who does not end when told to is killed; others may be as well, for want of memory, say.
  if [ "$status" = 137 ] && [ "$((SECONDS - started))" -ge "$((minutes * 60))" ]; then
    status=124
  fi
  return "$status"
}

# must LABEL COMMAND...: a step that everything after it needs.
must() {
  if quietly "$@"; then
    say "$1: done (${SECONDS_TAKEN} s)"
  else
    fail "$1 failed: see $(log_of "$1")"
  fi
}
