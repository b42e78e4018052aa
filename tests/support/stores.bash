# SPDX-License-Identifier: Apache-2.0
# For tests that ask the same of each lock store of backends/*/conformance.txt: `load ../support/stores`.

# Calls BODY for each store, with $key, $lacks and DLOCK_BACKEND; its name is the last line printed before a failure.
on_each_store() { # BODY
  local port name variable rest n=0
  while IFS='|' read -r port name variable rest lacks; do
    [[ $port == lock* ]] || continue
    read -r name <<<"$name"
    read -r variable <<<"$variable"
    read -r rest <<<"$rest"
    echo "store: $name"
    case $variable in
      DIRECTORY) mkdir -p -m 700 locks && use "local:$PWD/locks$rest" ;;
      *) use "${!variable}$rest" ;;
    esac
    n=$((n + 1)) key=app:$BATS_TEST_NUMBER-$n
    rm -f ran waited waiter waiter.pid pid
    "$1"
  done < <(cat "$BATS_TEST_DIRNAME"/../../backends/*/conformance.txt)
  [ "$n" -gt 10 ]
}
can() { [[ " $lacks " != *" $1 "* ]]; }
