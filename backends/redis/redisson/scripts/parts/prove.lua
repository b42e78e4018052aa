-- SPDX-License-Identifier: Apache-2.0
-- Before a lock is there: what a full server refuses, then what a grant, a renewal or the release needs, so that a user who
-- may not do that is refused while nothing is held. Leaves nothing, also of the last holders.
local function prove()
  call('HSET', holders, '', 0)
  call('PEXPIRE', holders, px)
  call('HINCRBY', holders, '', 0)
  call('HDEL', holders, '')
  call('DEL', holders)
  call('HGET', key, '')
  call('HEXISTS', key, '')
  call('PTTL', key)
end
