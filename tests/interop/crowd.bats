# SPDX-License-Identifier: Apache-2.0
# bats file_tags=all
# dlock, redis-py and node-redlock (both generations) in one crowd on one key: a thousand sections, and no two at a time.
load ../support/cli
load ../support/redis
load ../support/peers

setup() { set_world_of_peers; }
teardown() { end_world; }

@test "a thousand sections of four clients never overlap, and everyone is served" {
  python_peer py_crowd <<'CODE'
for _ in range(100):
    with server.lock("k", timeout=10, sleep=0.01):
        hold(0.001)
    time.sleep(0.001)
CODE
  node_peer node_crowd <<'CODE'
const locks = redlock(+process.argv[2], {retryDelay: 10, retryJitter: 10});
for (let i = 0; i < 100; i++) {
  const lock = await locks.take('k', 10000);
  await hold(1);
  await locks.give(lock);
  await pause(1);
}
CODE
  script dlock_crowd <<'CODE'
#!/bin/bash
set -e
for _ in {1..100}; do dlock run -q k -- section --for 0.001; done
CODE
  local name generation
  for name in dlock1 dlock2 dlock3 dlock4; do start_watched $name dlock_crowd; done
  for name in py1 py2; do start_watched $name py_crowd; done
  for generation in 4 5; do for name in node1 node2; do start_watched $name-$generation node_crowd $generation; done; done
  patience=120
  for name in dlock1 dlock2 dlock3 dlock4 py1 py2 node1-4 node1-5 node2-4 node2-5; do
    [ "$(how_ended $name)" = "exit 0" ]
  done
  history check --sections 1000
  [ "$(redis_cli one exists k)" = 0 ]
}
