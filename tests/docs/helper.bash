# SPDX-License-Identifier: Apache-2.0
# For tests of what the documents show: a stage with commands that write down how they were called.
root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

# Locks, HOME and PATH of the test's own. `calls` is what the stubs were called with, one line each.
set_stage() {
  unset "${!DLOCK_@}"
  stage=$BATS_TEST_TMPDIR/stage
  calls=$BATS_TEST_TMPDIR/calls
  mkdir -p "$stage/bin" "$BATS_TEST_TMPDIR/locks"
  chmod 700 "$BATS_TEST_TMPDIR/locks"
  : >"$calls"
  export DLOCK_BACKEND=local:$BATS_TEST_TMPDIR/locks HOME=$BATS_TEST_TMPDIR calls
  export PATH=$stage/bin:$PATH
  cd "$stage" || return
}

# A command that writes down its name, its arguments and the lock it runs under.
recorded() {
  local path
  for path in "$@"; do
    mkdir -p "$(dirname "$path")"
    cat >"$path" <<'END'
#!/bin/sh
echo "$(basename "$0")${1:+ $*} under ${DLOCK_KEY-no lock}" >>"$calls"
END
    chmod +x "$path"
  done
}

# Holds KEY in the background until `let_go`; returns when it is held.
hold() {
  mkfifo "$BATS_TEST_TMPDIR/holder"
  dlock hold "$@" <"$BATS_TEST_TMPDIR/holder" >"$BATS_TEST_TMPDIR/held" 3>&- &
  holder=$!
  exec {holder_stdin}>"$BATS_TEST_TMPDIR/holder"
  until [ -s "$BATS_TEST_TMPDIR/held" ]; do
    kill -0 "$holder" || return 1
    sleep 0.01
  done
}

let_go() {
  exec {holder_stdin}>&-
  wait "$holder"
  holder=
}

# The first fenced block below the heading that contains TEXT, if given of that LANGUAGE.
block() { # FILE TEXT [LANGUAGE]
  awk -v text="$2" -v fence="^\`\`\`${3-}" '
    /^#/ && index($0, text) { found = 1 }
    inside && /^```/ { exit }
    found && !inside && $0 ~ fence { inside = 1; next }
    inside { print }' "$1"
}

# The N-th example of a page, counted from the section that its name is given of, as a reader of the rendered page sees it.
rendered_example() { # PAGE N [SECTION]
  { echo '.TH X 1'; echo .nf; scdoc <"$root/man/$1.scd" | awk -v n="$2" -v section="${3-}" '
      BEGIN { inside_section = section == "" }
      /^\.SH / && section != "" { inside_section = $0 == ".SH " section }
      /^\.fi$/ { inside = 0 }
      inside_section && /^\.nf$/ { inside = 1; count++; getline; next }
      inside && count == n'; echo .fi; } |
    mandoc -T ascii -O width=400 | sed 's,.\x08,,g; 1,2d' | head -n -2 | sed 's,^     ,,'
}
