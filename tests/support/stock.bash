# SPDX-License-Identifier: Apache-2.0
# What tests of stocks on servers have in common: the stock is "phone", $direct is the server without the proxy in between.

requests=3 replies=3

field() { DLOCK_BACKEND=${direct:-$DLOCK_BACKEND} dlock stock show phone --json | jq ".$1"; }
is() { [ "$(field "$1")" = "$2" ]; }
balanced() { [ "$(field 'total + .reserved + .taken - .refunded - .created - .added')" = 0 ]; }
create() { DLOCK_BACKEND=${direct:-$DLOCK_BACKEND} dlock stock create phone --quantity "$1" --segments "$2"; }
pid_of() { cat "$1.pid"; }

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
