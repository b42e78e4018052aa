-- SPDX-License-Identifier: Apache-2.0
-- {ok, made, born}
--- after counters_*.lua
--- include parts/run.lua
return run(function()
  -- What a full server allows goes first.
  call('HDEL', meta, '')
  call('HSET', meta, 'dropping', '1')
  return {'ok', made, ask('HGET', meta, 'born') or '0'}
end)
