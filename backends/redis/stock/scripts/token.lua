-- SPDX-License-Identifier: Apache-2.0
-- {token, number}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/draw_token.lua
return run(function() return {'token', draw_token()} end)
