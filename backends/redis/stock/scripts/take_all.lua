-- SPDX-License-Identifier: Apache-2.0
-- KEYS: the ninth is followed by the record of each request, none twice. ARGV: keep ms, then of each request id, quantity
-- and start.
-- {served, answer...}: what take.lua answers to each without an owner, the words with blanks between them; one of them may
-- be "broken WHY". All is decided before the first write but that of sweep().
--- after counters_*.lua
--- include parts/run.lua
--- include parts/again.lua
--- include parts/choose.lua
--- include parts/join.lua
local keep, wanted = ARGV[1], #KEYS - 9
local sold, sum, new, old_ones = {}, 0, {}, {}
-- A number as a text takes longer than to find one that was made before.
local names, numbers = {}, {}
local function name_of(segment)
  local name = names[segment]
  if not name then
    name = decimal(segment) .. ':'
    names[segment] = name
  end
  return name
end
local function number_of(text)
  local number = numbers[text]
  if not number then
    number = whole(text) or 0
    numbers[text] = number
  end
  return number
end

-- Remembers what is to be written.
local function deduct(segment, number)
  free[segment] = free[segment] - number
  sold[segment] = (sold[segment] or 0) + number
end
local function sell(i, number, text)
  sum_free, sum = sum_free - number, sum + number
  new[i] = made .. ' T ' .. ARGV[3 * i] .. ' ' .. text .. ' - 0'
  return 'taken ' .. text
end

-- What is known of it is asked for by pcall: what its record is to blame for is its own answer.
local function known(i, text, number)
  local old = parse_record(text)
  if old then
    local answer = told(old, number)
    if answer[1] == 'repeated' then old_ones[#old_ones + 1] = KEYS[9 + i] end
    return table.concat(answer, ' ')
  end
  local holder, before = reservation(ARGV[3 * i - 1])
  if holder then return before == number and 'progress' or 'reused ' .. decimal(before) end
end

local function answer_to(i, text, reserved_ones)
  local number = number_of(ARGV[3 * i])
  if number < 1 then return 'invalid' end
  if text or reserved_ones then
    local ok, answer = pcall(known, i, text, number)
    if not ok and type(answer) == 'table' and answer.why then return 'broken ' .. answer.why end
    if not ok then error(answer) end
    if answer then return answer end
  end
  local segment = place(ARGV[3 * i + 1])
  if free[segment] >= number then
    deduct(segment, number)
    return sell(i, number, name_of(segment) .. ARGV[3 * i])
  end
  local parts = choose(number, ARGV[3 * i + 1])
  if not parts then return 'short ' .. decimal(sum_free) .. ' ' .. decimal(sum_aside) end
  for _, part in ipairs(parts) do deduct(part[1], part[2]) end
  return sell(i, number, join(parts))
end

return run(function()
  sweep()
  load()
  if not whole(taken_so_far) then broken('it does not know what was taken') end
  local texts, reserved_ones = ask('MGET', unpack(KEYS, 10)), ask('HLEN', open) > 0
  local answers = {'served'}
  for i = 1, wanted do answers[i + 1] = answer_to(i, texts[i], reserved_ones) end
  for segment, number in pairs(sold) do change(segment, -number) end
  if sum > 0 then call('HINCRBY', meta, 'taken', decimal(sum)) end
  for i = 1, wanted do
    if new[i] then call('SET', KEYS[9 + i], new[i], 'PX', keep) end
  end
  for _, key in ipairs(old_ones) do call('PEXPIRE', key, keep) end
  return answers
end)
