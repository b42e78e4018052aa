-- SPDX-License-Identifier: Apache-2.0
-- KEYS: the ninth is followed by the record of each request, none twice. ARGV: keep ms, then of each request id, quantity
-- and start.
-- {served, answer...}: what take.lua answers to each without an owner, the words with blanks between them; one of them may
-- be "broken WHY". All is decided before the first write but that of sweep().
--- after counters_*.lua
--- include parts/run.lua
--- include parts/again.lua
--- include parts/choose.lua
--- include parts/record.lua
--- include parts/join.lua
local keep, wanted = ARGV[1], #KEYS - 9
local sold, sum, new, old_ones = {}, 0, {}, {}

-- Remembers what is to be written.
local function sell(i, number, parts)
  for _, part in ipairs(parts) do
    free[part[1]] = free[part[1]] - part[2]
    sold[part[1]] = (sold[part[1]] or 0) + part[2]
  end
  sum_free, sum = sum_free - number, sum + number
  local text = join(parts)
  new[#new + 1] = {KEYS[9 + i], number, text}
  return {'taken', text}
end

local function answer_to(i, text, reserved_ones)
  local id, number, start = ARGV[3 * i - 1], whole(ARGV[3 * i]), ARGV[3 * i + 1]
  if not number or number < 1 then return {'invalid'} end
  local old = parse_record(text)
  if old then
    local answer = told(old, number)
    if answer[1] == 'repeated' then old_ones[#old_ones + 1] = KEYS[9 + i] end
    return answer
  end
  if reserved_ones then
    local holder, before = reservation(id)
    if holder then return before == number and {'progress'} or {'reused', decimal(before)} end
  end
  local parts = choose(number, start)
  if not parts then return {'short', decimal(sum_free), decimal(sum_aside)} end
  return sell(i, number, parts)
end

-- What the record of one request is to blame for is its own answer.
local function said_to(i, text, reserved_ones)
  local ok, answer = pcall(answer_to, i, text, reserved_ones)
  if ok then return table.concat(answer, ' ') end
  if type(answer) == 'table' and answer.why then return 'broken ' .. answer.why end
  error(answer)
end

return run(function()
  sweep()
  load()
  if not whole(ask('HGET', meta, 'taken')) then broken('it does not know what was taken') end
  local texts, reserved_ones = ask('MGET', unpack(KEYS, 10)), ask('HLEN', open) > 0
  local answers = {'served'}
  for i = 1, wanted do answers[i + 1] = said_to(i, texts[i], reserved_ones) end
  for segment, number in pairs(sold) do change(segment, -number) end
  if sum > 0 then call('HINCRBY', meta, 'taken', decimal(sum)) end
  for _, one in ipairs(new) do record_at(one[1], 'T', one[2], one[3], '-', 0, keep) end
  for _, key in ipairs(old_ones) do call('PEXPIRE', key, keep) end
  return answers
end)
