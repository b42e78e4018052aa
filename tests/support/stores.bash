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

# The URLs of all kinds, a line each, whose servers are at HOST; those that name several have the others, too. With a WORD
# none that lacks it.
urls_at() { # HOST HOST2 HOST3 [WORD]
  awk -F ' *[|] *' -v word="${4:-none}" '/^url/ && $5 !~ word { print $4 }' "$BATS_TEST_DIRNAME"/../../backends/*/conformance.txt |
    sed "s#HOST3#$3#; s#HOST2#$2#; s#HOST#$1#"
}
# Of each backend with servers its name and the first of them.
first_url_of_each() { # HOST
  awk -F ' *[|] *' -v host="$1" 'FNR == 1 { found = 0 } /^url/ && !found++ { sub(/HOST/, host, $4); n = split(FILENAME, part, "/"); print part[n - 1], $4 }' \
    "$BATS_TEST_DIRNAME"/../../backends/*/conformance.txt
}

# The backends that have servers, and what their tests start these with.
mapfile -t backends_with_servers < <(sed -n '/^set(dlock_all_backends$/,/^)/s/^  //p' "$BATS_TEST_DIRNAME"/../../backends/CMakeLists.txt |
  while read -r backend; do [ ! -e "$BATS_TEST_DIRNAME/../../backends/$backend/servers.bash" ] || echo "$backend"; done)
