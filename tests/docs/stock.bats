# SPDX-License-Identifier: Apache-2.0
# What dlock-stock(1) teaches can be typed as it stands, and shows what it says.
bats_require_minimum_version 1.5.0
load helper

setup() {
  set_stage
  page=$root/man/dlock-stock.1.scd
}

example() { rendered_example dlock-stock.1 "$1"; }
typed() { example "$1" | bash; }

@test "the oversell happens; under one lock it does not" {
  [ "$(typed 1 | grep -c 'sold to')" = 2 ]
  [ "$(typed 2 | grep -c 'sold to')" = 1 ]
}

@test "the stock: taken once, shown; run sells, or gives back" {
  run -0 typed 3
  [[ "$output" == *"phone  998 left"* ]]
  run -0 --separate-stderr bash -c "$(example 3 | sed -n 2p)"
  [[ "$output" =~ ^[0-9]+\ 2$ ]]
  [[ "$stderr" == *"repeated: request 'order-76' was served before"* ]]
  run -0 typed 4
  [[ "$output" == *"selling "*:1* ]]
  [[ "$output" == *"996 left, 1 set aside by 1 open take"* ]] # inside the second run
  [[ "$output" == *"997 left, 0 set aside"*"taken 3,"* ]]     # after it
}

# In place of sleep(1): writes + when it begins and - when it ends; with $company it first waits for another one's +.
put_sleep() {
  cat >"$stage/bin/sleep" <<'END'
#!/bin/bash
printf + >>"$slept"
for ((n = 0; n < 2000; n++)); do
  [ "${company-}" ] && [[ $(<"$slept") != *+*+* ]] || break
  read -r -t 0.01 <> <(:)
done
printf - >>"$slept"
END
  chmod +x "$stage/bin/sleep"
  export slept=$BATS_TEST_TMPDIR/slept
}
@test "the segments: five commands one after the other with one, at the same time with twenty" {
  put_sleep
  example 5 | sed -n 1,2p | bash
  [ "$(<"$slept")" = +-+-+-+-+- ]
  rm "$slept"
  example 5 | sed -n '3,$p' | company=yes bash
  echo "$(<"$slept")"
  [[ $(<"$slept") == ++* ]]
  dlock stock show queue --json | jq -e '.taken == 10'
  dlock stock create phone --quantity 1
  run -0 typed 6
  [[ "$(dlock stock show)" == "there is no stock"* ]]
}
