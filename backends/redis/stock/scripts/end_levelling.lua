-- SPDX-License-Identifier: Apache-2.0
-- ARGV: made, epoch, plan
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
local wanted, epoch, plan = unpack(ARGV)
return run(function()
  if wanted == made and ask('HGET', meta, 'levelling') == plan then
    -- What a full server allows goes first.
    call('HDEL', meta, '')
    call('HSET', meta, 'epoch', epoch)
    call('HDEL', meta, 'levelling')
  end
  return {'ok'}
end)
