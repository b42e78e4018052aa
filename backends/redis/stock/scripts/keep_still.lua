-- SPDX-License-Identifier: Apache-2.0
-- ARGV: ms in which no levelling may begin
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
return run(function()
  call('HSET', meta, 'still', ms + ARGV[1])
  return {'ok'}
end)
