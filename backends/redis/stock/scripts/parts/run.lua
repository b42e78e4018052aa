-- SPDX-License-Identifier: Apache-2.0
-- The clock when `body` begins; who made the stock, and the text of how much was taken for good.
local us, ms
local made, taken_so_far
-- How many segments it has: 0 to segments - 1.
local segments
-- Quantity and what is set aside by segment, and their sums, once load() has run (parts/load.lua).
local free, aside, sum_free, sum_aside
-- Opens the stock and runs `body`, which returns the answer, unless `at_once` (may be nil, sees no clock) has one. What
-- the data are to blame for is {broken}; what the server refuses by a word of its own (OOM, READONLY) stays an error
-- reply; any other error is {failed}.
local function run(body, at_once)
  local function main()
    local shape = ask('HMGET', meta, 'made', 'segments', 'taken')
    if not shape[1] then return {'none'} end
    made, taken_so_far = shape[1], shape[3]
    segments = whole(shape[2])
    if not segments or segments < 1 then broken('its number of segments is "' .. tostring(shape[2]) .. '"') end
    local answer = at_once and at_once()
    if answer then return answer end
    local time = call('TIME')
    us = time[1] * 1000000 + time[2]
    ms = math.floor(us / 1000)
    return body()
  end
  local ok, answer = pcall(main)
  if ok then return answer end
  if type(answer) == 'table' and answer.why then return {'broken', answer.why} end
  local err = type(answer) == 'table' and answer.err or tostring(answer)
  err = string.match(err, '%-(%u+ .*)$') or err
  if string.match(err, '^%u+ ') and not string.match(err, '^ERR ') and not string.match(err, '^WRONGTYPE ') then
    return redis.error_reply(err)
  end
  return {'failed', err}
end
