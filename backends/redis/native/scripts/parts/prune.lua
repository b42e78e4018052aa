-- SPDX-License-Identifier: Apache-2.0
-- Takes out shared and permit holders whose lease has ended; the marker goes with the last of them.
local function prune()
  if not is_marked() then return end
  for _, owner in ipairs(call('ZRANGEBYSCORE', ends, '-inf', ms)) do
    call('ZREM', ends, owner)
    call('HDEL', holders, owner)
  end
  if call('ZCARD', ends) == 0 then
    call('DEL', lock, holders, ends)
    value = false
  end
end
