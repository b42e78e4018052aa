-- SPDX-License-Identifier: Apache-2.0
--- include parts/leave_queue.lua
-- Tells the first waiter that listens. A waiter whose connection is gone leaves the queue: it comes back to its old
-- place if it lives. Where channels are refused waiters look by themselves.
local function wake()
  for _ = 1, 1000 do
    local waiter = call('ZRANGE', queue, 0, 0)[1]
    if not waiter then return end
    local record = call('HGET', waiting, waiter)
    local polls = record and string.match(record, '^%S+ %S+ %S+ (%S+)') == '1'
    local heard = try('PUBLISH', ARGV[1] .. waiter, 'free')
    if type(heard) == 'table' or heard > 0 or polls then return end
    leave_queue(waiter)
  end
end
