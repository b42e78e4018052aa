-- SPDX-License-Identifier: Apache-2.0
-- Every slot has its share.
-- ARGV: made
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
return run(function()
  if ARGV[1] == made then call('HDEL', meta, 'making') end
  return {'ok'}
end)
