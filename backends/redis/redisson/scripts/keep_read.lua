-- SPDX-License-Identifier: Apache-2.0
-- Makes one of our reads last, with its own key alone.
-- KEYS: the read. ARGV: lease in ms, exact
-- {kept}
local px, left = tonumber(ARGV[1]), redis.call('PTTL', KEYS[1])
redis.call('SET', KEYS[1], '1', 'PX', ARGV[2] == '1' and px or math.max(px, left))
return {'kept'}
