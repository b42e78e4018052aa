-- SPDX-License-Identifier: Apache-2.0
local function leave_queue(waiter)
  call('HDEL', waiting, waiter)
  return call('ZREM', queue, waiter) == 1
end
