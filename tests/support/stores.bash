# SPDX-License-Identifier: Apache-2.0
# For tests that ask the same of each lock store of backends/*/conformance.txt: `load ../support/stores`.

# Without DLOCK_TEST_EVERY_STORE (scripts/check --all): a store of each kind of record that a holder leaves, and the lock
# that is a connection. The others are the same layouts on other servers, or other names for what these do.
stores_of_each_kind=(local redis redlock 'redisson, fenced' zookeeper mysql 'mysql, session')

# Calls BODY for each store, with $key (no other file's: they run side by side on the same servers), $lacks and
# DLOCK_BACKEND; its name is the last line printed before a failure.
on_each_store() { # BODY
  local port name variable rest n=0
  while IFS='|' read -r port name variable rest lacks; do
    [[ $port == lock* ]] || continue
    read -r name <<<"$name"
    wants_store "$name" || continue
    read -r variable <<<"$variable"
    read -r rest <<<"$rest"
    echo "store: $name"
    case $variable in
      DIRECTORY) mkdir -p -m 700 locks && use "local:$PWD/locks$rest" ;;
      *) use "${!variable}$rest" ;;
    esac
    n=$((n + 1)) key=app:${BATS_TEST_FILENAME##*/}-$BATS_TEST_NUMBER-$n
    rm -f ran waited waiter waiter.pid pid
    "$1"
  done < <(cat "$BATS_TEST_DIRNAME"/../../backends/*/conformance.txt)
  [ "$n" -ge ${#stores_of_each_kind[@]} ]
}
wants_store() { # NAME
  local kind
  [ ! "${DLOCK_TEST_EVERY_STORE-}" ] || return 0
  for kind in "${stores_of_each_kind[@]}"; do [ "$1" != "$kind" ] || return 0; done
  return 1
}
can() { [[ " $lacks " != *" $1 "* ]]; }
