-- SPDX-License-Identifier: Apache-2.0
-- Counts, and then `body`, which returns the answer: all of it or nothing. What the server refuses on the way, for lack of a
-- right or of a number, takes back what was counted; `undo` (may be nil) takes back what the body has written.
local function set_aside(segment, by) call('HINCRBY', reserved, segment, by) end
local function book(counter, by) call('HINCRBY', meta, counter, by) end
-- steps: {change, set_aside or book; its segment or counter; by how much} each
local function counted(steps, body, undo)
  local done = 0
  local ok, answer = pcall(function()
    for i, step in ipairs(steps) do
      step[1](step[2], step[3])
      done = i
    end
    return body()
  end)
  if ok then return answer end
  for i = 1, done do steps[i][1](steps[i][2], -steps[i][3]) end
  if undo then undo() end
  error(answer, 0)
end
