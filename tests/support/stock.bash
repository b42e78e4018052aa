# SPDX-License-Identifier: Apache-2.0
# What tests of stocks have in common: the stock is $phone, $direct is the server without the proxy in between.
# shellcheck disable=SC2154

phone=phone

# --- on every store that is here: for tests/cli ----------------------------------------------------------------------

# This machine, and of each backend with servers the first that keeps stocks.
set_stores() { # in setup
  local variable
  stores=("$DLOCK_BACKEND")
  while read -r variable; do
    [ -z "${!variable-}" ] || stores+=("${!variable}")
  done < <(awk -F ' *[|] *' 'FNR == 1 { found = 0 } /^stock/ && $3 != "DIRECTORY" && !found++ { print $3 }' "$BATS_TEST_DIRNAME"/../../backends/*/conformance.txt)
  phone=phone-$BATS_TEST_NUMBER-$$
}
drop_from_stores() { # in teardown
  local store
  for store in "${stores[@]}"; do dlock stock drop "$phone" --yes -b "$store" 2>/dev/null || true; done
}
on_each() { # FUNCTION...: once for each store, in an empty folder
  local store
  for store in "${stores[@]}"; do
    echo "store: $store"
    export DLOCK_BACKEND=$store
    rm -rf ./*
    "$@"
  done
}
on_one() { # FUNCTION...: on one, a server if there is one: for what the keeper decides
  stores=("${stores[1]:-${stores[0]}}")
  on_each "$@"
}

# --- what is there ---------------------------------------------------------------------------------------------------

straight() { DLOCK_BACKEND=${direct:-$DLOCK_BACKEND} dlock "$@"; }
nothing_open() { [ "$(field reserved open)" = $'0\n0' ]; }
create() { straight stock create "$phone" --quantity "$1" --segments "$2"; }
field() { straight stock show "$phone" --json | "$programs/json_part" "${@/#//}"; } # FIELD...
is() { [ "$(field "$1")" = "$2" ]; }                                                # FIELD VALUE
balanced() {
  local n
  mapfile -t n < <(field total reserved taken refunded created added)
  [ ${#n[@]} = 6 ] && [ $((n[0] + n[1] + n[2])) = $((n[3] + n[4] + n[5])) ]
}

# --- connections cut behind every message ----------------------------------------------------------------------------

requests=3 replies=3
# cut_behind_each COMMAND...: runs it once for each place where a connection can be cut, with a number of its own for AT in
# the words. How many messages there are in each direction, at least: $requests, $replies.
cut_behind_each() {
  local direction n at=0 word words
  for direction in requests replies; do
    for ((n = 0; n <= ${!direction}; n++)); do
      at=$((at + 1)) words=()
      for word in "$@"; do words+=("${word//AT/$at}"); done
      network cut "$direction" "$n"
      run "${words[@]}"
      echo "cut behind $n $direction: $status $output"
      [ "$status" = 0 ] || return 1
      balanced || return 1
    done
  done
  cuts=$at
}

# The bodies take the quantity of one request. It goes over several slots when it is more than a segment has.

cuts_in_a_take() { # QUANTITY
  cut_behind_each dlock stock take phone --qty "$1" --id order-AT
  is taken $(($1 * cuts))
  cut_behind_each dlock stock take phone --qty "$1" --id order-AT # the same again
  is taken $(($1 * cuts))
  cut_behind_each dlock stock take phone --qty 1 # dlock's own ids do the same
  is taken $((($1 + 1) * cuts))
}

cuts_in_refunds_and_restocks() { # QUANTITY of each take
  local i all=$((requests + replies + 2)) total
  total=$(field total)
  for ((i = 1; i <= all; i++)); do dlock stock take phone --qty "$1" --id "order-$i"; done
  cut_behind_each dlock stock refund phone --qty 2 --id order-AT
  is refunded $((2 * cuts))
  cut_behind_each dlock stock add phone --qty 4 --id truck-AT
  cut_behind_each dlock stock add phone --qty 4
  is added $((8 * cuts))
  is total $((total - $1 * cuts + 2 * cuts + 8 * cuts))
}

# The line that a 69 says makes the same request again: what it does is done once, whether it was done before or not.
silence_says_how_to_repeat() {
  local way step line
  for way in hold drop; do
    for step in 'take phone --qty 2' 'add phone --qty 2'; do
      network "$way"
      # shellcheck disable=SC2086
      run -69 dlock stock $step --connect-timeout 1s
      echo "$way $step: $output"
      [[ "$output" == *"; it may have been done"*"without doing it twice: dlock stock ${step%% *} --qty 2 --id dlock-"*" phone" ]]
      network pass
      line=${output##*twice: }
      run -0 bash -c "$line"
      run -0 bash -c "$line"
    done
  done
  for step in 'create other --quantity 5' 'refund phone --id nobody' 'resize phone --segments 3' 'rebalance phone' 'drop phone --yes'; do
    network drop
    # shellcheck disable=SC2086
    run -69 dlock stock $step --connect-timeout 1s
    echo "$step: $output"
    [[ "$output" == *"; it may have been done"*"without doing it twice: dlock stock "* ]]
    network pass
  done
}
# One that greets nobody has been sent nothing, so nothing can have been done, and nobody says that it may have.
take_from_a_server_that_greets_nobody() {
  local way step
  for way in hold drop; do
    network "$way"
    for step in 'take phone --qty 2' 'add phone --qty 2' 'create other --quantity 5' 'refund phone --id nobody' \
      'resize phone --segments 3' 'rebalance phone' 'drop phone --yes'; do
      # shellcheck disable=SC2086
      run -69 dlock stock $step --connect-timeout 1s
      echo "$way $step: $output"
      [[ "$output" != *"may have been done"* && "$output" == *"dlock doctor"* ]]
    done
    network pass
  done
  is taken 0
  is added 0
  run -78 dlock stock show other
}
take_from_a_silent_server() {
  local total
  total=$(field total)
  silence_says_how_to_repeat
  is taken 4
  is added 4
  is total "$total"
}

cuts_in_what_changes_the_segments() {
  cut_behind_each dlock stock create other-AT --quantity 5
  cut_behind_each dlock stock resize phone --segments 5
  cut_behind_each dlock stock rebalance phone
  cut_behind_each dlock stock drop other-AT --yes
  use "$direct"
  [ "$(dlock stock show --json | wc -l)" = 1 ]
}

cuts_in_a_run() { # QUANTITY
  cut_behind_each dlock stock run phone --qty "$1" --id order-AT --ttl 1s -- sh -c 'echo ran >>ran; sleep 0.4'
  is taken $(($1 * cuts))
  is open 0
  [ "$(wc -l <ran)" = "$cuts" ]
  cut_behind_each sh -c "dlock stock run phone --qty $1 --id failed-AT -- false; test \$? = 1"
  is taken $(($1 * cuts))
  is open 0
}

# --- a command that is still there -----------------------------------------------------------------------------------

# run_until_told NAME WORD...: a dlock stock run whose command waits for the file "go".
run_until_told() {
  start_watched "$1" dlock stock run phone "${@:2}" -- sh -c 'touch inside; until [ -e go ]; do sleep 0.1; done'
  wait_until test -e inside
}

take_waits_for_its_server() { # STATUS RESTART...: of 10 in the store whose server is killed, and started again by that
  run -69 dlock stock take phone --id a --connect-timeout 1s
  start_watched patient dlock stock take phone --id a --connect-timeout 30s
  wait_until in_state "$(pid_of patient)" S
  "${@:2}"
  [ "$(how_ended patient)" = "exit $1" ]
}

black_hole() { # QUANTITY
  local total
  total=$(field total)
  start_watched a dlock stock run phone --qty "$1" --ttl 2s -- sh -c 'touch inside; exec sleep 60'
  wait_until test -e inside
  network hold
  [ "$(how_ended a)" = "exit 79" ]
  wait_until is total "$total"
  is taken 0
  is reserved 0
  network pass
}

# killed_behind_each MESSAGES COMMAND...: runs it once for each number of messages and kills all of it, keeper as well,
# when so many were sent; what it left is finished or undone; then the same once more, to its end. $before and $after are
# commands for each time, that nobody kills.
killed_behind_each() {
  local n word words victim
  for ((n = 1; n <= $1; n++)); do
    words=()
    for word in "${@:2}"; do words+=("${word//AT/$n}"); done
    [ -z "${before-}" ] || ${before//AT/$n}
    network delay 10
    network count >/dev/null # from here on
    sent=0
    setsid "${words[@]}" >killed.out 2>&1 3>&- &
    victim=$!
    wait_until sent_or_gone "$n" "$victim"
    kill -KILL -- "-$victim" 2>/dev/null || true
    wait "$victim" 2>/dev/null || true
    network pass
    balanced || return 1
    wait_until nothing_open
    balanced || return 1
    run "${words[@]}"
    echo "killed behind $n of $sent, $(cat killed.out), then: $status $output"
    [ "$status" = 0 ] || return 1
    balanced || return 1
    [ -z "${after-}" ] || ${after//AT/$n}
  done
  # shellcheck disable=SC2034 # for the test
  kills=$1
}
sent_or_gone() { # NUMBER PID
  local more
  read -r more _ < <(network count)
  sent=$((sent + more))
  [ "$sent" -ge "$1" ] || ! kill -0 "$2" 2>/dev/null
}

# CMD ends with 0, but nobody can be told; the same request again finds out.
sale_without_an_answer() {
  create 10 2
  run_until_told a --qty 2 --id order-1 --ttl 2s
  network drop
  touch go
  [ "$(how_ended a)" = "exit 69" ] || [ "$(how_ended a)" = "exit 79" ]
  network pass
  wait_until is open 0
  balanced
  is taken 0 # dropped: the sale was never heard of
  run -0 dlock stock run phone --qty 2 --id order-1 -- true
  is taken 2
}

# The body of a test: a stock that comes from another store goes on with larger tokens.
tokens_begin_at_the_time() {
  local before last=0 token id
  before=$(date +%s%6N)
  create 10 3
  for id in a b c; do
    token=$(dlock stock run phone --id $id -- sh -c 'echo "$DLOCK_TOKEN"')
    [ "$token" -gt "$before" ]
    [ "$token" -gt "$last" ]
    last=$token
  done
  dlock stock drop --yes phone
  create 10 3
  token=$(dlock stock run phone --id d -- sh -c 'echo "$DLOCK_TOKEN"')
  [ "$token" -gt "$last" ]
}
