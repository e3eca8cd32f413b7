# shellcheck shell=bash
# Tests that failed run once more, alone. What passes then is flaky: the last line of bin/test says so, and test/FLAKY.md keeps
# the name, which is an open fault. Sourced after steps.sh by bin/test, which has the files $results and $failures, and `ran`.

readonly FLAKY="test/FLAKY.md"
# Between names, which may have any printable character.
readonly BETWEEN=$'\x1f'
# What was flaky in this run, for the last line.
flaky=""

# failed_tests LABEL: the names of the tests that failed, by the log of a step: those of ExUnit, then those of cargo.
failed_tests() {
  sed -nE -e 's/^ +[0-9]+\) (.*)$/\1/p' -e 's/^---- (.*) stdout ----$/\1/p' "$(log_of "$1")" | sort -u
}

# to_run_again quietly|visibly LABEL COMMAND...: a line that runs it once more. Of ExUnit's tests only those that failed, if its
# last lines tell of any: without, nothing would run, and that would pass.
to_run_again() {
  local how=$1 label=$2 only=()
  shift 2
  [[ $label != "mix test"* ]] || ! grep -qE ', [1-9][0-9]* (failures?|invalid)' "$(log_of "$label")" || only=(--failed)
  printf '%q ' run_again "$how" "$label" "$(failed_tests "$label" | paste -sd "$BETWEEN")" "$@" "${only[@]}"
  printf '\n'
}

# run_again quietly|visibly LABEL NAMES COMMAND...
run_again() {
  local how=$1 label=$2 names=${3:-}
  shift 3
  if ran "$how" "$label once more" "$@"; then
    echo passed >>"$results"
    note_flaky "$label" "${names:-the step as a whole}"
  else
    echo "$label" >>"$results"
  fi
}

# note_flaky LABEL NAMES
note_flaky() {
  local name names
  IFS=$BETWEEN read -ra names <<<"$2"
  for name in "${names[@]}"; do
    flaky+="${flaky:+; }$1: $name"
    printf '* %s: %s (%s, at %s)\n' "$1" "$name" "$(date +%F)" "$(git rev-parse --short HEAD 2>/dev/null || echo '?')" >>"$FLAKY"
  done
}

run_failures_again() {
  local line
  while read -r line; do eval "$line"; done <"$failures"
}
