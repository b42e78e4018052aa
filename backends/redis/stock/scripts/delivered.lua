-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id
-- {ok}
--- after counters_*.lua
--- include parts/run.lua
return run(function()
  call('HDEL', credits, ARGV[1])
  return {'ok'}
end)
