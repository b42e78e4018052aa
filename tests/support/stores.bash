# SPDX-License-Identifier: Apache-2.0
# For tests that ask the same of each lock store of backends/*/conformance.txt: `load ../support/stores`.

# Without DLOCK_TEST_EVERY_STORE (scripts/check --all): a store of each protocol, and the STOREs that are named. The others
# are the same layouts on other servers, or other layouts behind the same commands.
mapfile -t stores_of_each_protocol < <(awk -F ' *[|] *' 'FNR == 1 { found = 0 } /^lock/ && !found++ { print $2 }' \
  "$BATS_TEST_DIRNAME"/../../backends/*/conformance.txt)

# Calls BODY for each store, with $key (no other file's: they run side by side on the same servers), $lacks and
# DLOCK_BACKEND; its name is the last line printed before a failure.
on_each_store() { # BODY [STORE...]
  local port name variable rest n=0 stores=("${stores_of_each_protocol[@]}" "${@:2}")
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
  [ "$n" -ge ${#stores[@]} ]
}
# What the shared piece decides and no store by itself, or what conformance asks of each store: on this machine and on a
# server.
on_two_stores() { # BODY
  local stores_of_each_protocol=(local redis)
  on_each_store "$1"
}
wants_store() { # NAME
  local store
  [ ! "${DLOCK_TEST_EVERY_STORE-}" ] || return 0
  for store in "${stores[@]}"; do [ "$1" != "$store" ] || return 0; done
  return 1
}
can() { [[ " $lacks " != *" $1 "* ]]; }
