-- SPDX-License-Identifier: Apache-2.0
-- Takes those out of the queue of a free lock who were shown at its front; as where their time is over, the time of those
-- after them stays.
-- ARGV: ... FIELD, FIELD, ...
-- {freed} {conflict}: some were shown, and none of them is there
--- include parts/prologue.lua
--- include parts/queue.lua
if kind ~= 'none' then return {'conflict'} end
local answer = {#ARGV < 5 and 'freed' or 'conflict'}
for i = 5, #ARGV do
  if call('LINDEX', queue, 0) == ARGV[i] then
    leave_front(ARGV[i])
    answer = {'freed'}
  end
end
tell_first()
return answer
