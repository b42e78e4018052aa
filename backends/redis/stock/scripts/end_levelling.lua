-- SPDX-License-Identifier: Apache-2.0
-- ARGV: made, epoch, plan
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
local wanted, epoch, plan = unpack(ARGV)
return run(function()
  if wanted == made and ask('HGET', meta, 'levelling') == plan then
    call('HDEL', meta, 'levelling')
    call('HSET', meta, 'epoch', epoch)
  end
  return {'ok'}
end)
