# SPDX-License-Identifier: Apache-2.0
# Servers that lie (tests/support/lying_*.py), and what a command towards them may need.

# start_liar_program NAME [ARGUMENT...]: tests/support/NAME.py in $liar; it has a port when this returns.
start_liar_program() {
  mkdir -p "$liar"
  rm -f "$liar/port"
  "${python[@]}" "$support/$1.py" "$liar" "${@:2}" 3>&- &
  started+=("$!")
  disown "$!"
  wait_until filled "$liar/port"
}
it_says() { echo "$1" >"$liar/mode"; } # the name of a lie

# meter COMMAND...: runs it, with what it says in the file said; sets met_status, met_ms, met_kib and met_left
# (tests/support/metered.py).
meter() {
  local word
  rm -f meter
  "${python[@]}" "$support/metered.py" meter "$@" >said 2>&1 3>&- || true
  read -r word met_status word met_ms word met_kib word met_left <meter
}

# metered STATUSES COMMAND...: ends with one of these in time, with little memory, and leaves nothing behind.
metered() {
  local statuses=$1
  shift
  meter "$@"
  printf '%-22s %s: %s\n' "$(cat "$liar/mode")" "$(cat meter)" "$(head -c 160 said | head -n 1 | cat -v)"
  # Nothing that a terminal obeys, in lines that people can read.
  iconv -f UTF-8 -t UTF-8 said >/dev/null || return
  if LC_ALL=C grep -qP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' said; then return 1; fi
  [ "$(awk 'length > longest { longest = length } END { print longest + 0 }' said)" -lt 1500 ]
  [[ " $statuses " == *" $met_status "* ]] && ((met_ms < 15000 && met_kib < 65536 && met_left == 0)) && [ ! -e ran ]
}
