-- SPDX-License-Identifier: Apache-2.0
-- KEYS: the sixth is followed by the record of each request, none twice. ARGV: keep ms, where in such a key the id
-- begins, then quantity and start of each request; or only those of the first, if all have its quantity and each starts
-- one further than the one before.
-- {served, answer...}: what take.lua answers to each without an owner, the words with blanks between them; one of them may
-- be "broken WHY". All is decided before the first write but that of sweep().
--- after counters_*.lua
--- include parts/run.lua
--- include parts/again.lua
--- include parts/choose.lua
--- include parts/lists.lua
--- include parts/counted.lua
--- include parts/check_taken.lua
local keep, id_at, wanted = ARGV[1], ARGV[2], #KEYS - 6
local touched, sum, new, old_ones = {}, 0, {}, {}
-- By quantity. To make a text takes longer than to find one that was made before: takes of as many out of one segment
-- have one answer and one record.
local kinds = {}
local function kind_of(quantity)
  local kind = kinds[quantity]
  if not kind then
    kind = {number = whole(quantity) or 0, quantity = quantity, answers = {}, records = {}}
    kinds[quantity] = kind
  end
  return kind
end
local function texts(kind, parts)
  return 'taken ' .. parts, made .. ' T ' .. kind.quantity .. ' ' .. parts .. ' - 0'
end

-- Remembers what is to be written.
local function deduct(segment, number)
  free[segment], touched[segment] = free[segment] - number, true
end
local function sell(i, number, answer, record)
  sum_free, sum = sum_free - number, sum + number
  new[i] = record
  return answer
end
local function sell_out_of(segment, i, kind)
  local answers, records = kind.answers, kind.records
  if not answers[segment] then
    answers[segment], records[segment] = texts(kind, decimal(segment) .. ':' .. kind.quantity)
  end
  deduct(segment, kind.number)
  return sell(i, kind.number, answers[segment], records[segment])
end

-- The record is read by pcall: a fault of the record is its own answer.
local function known(i, text, number)
  local old = parse_record(text)
  if old then
    local answer = told(old, number)
    if answer[1] == 'repeated' then old_ones[#old_ones + 1] = KEYS[6 + i] end
    return table.concat(answer, ' ')
  end
  local holder, before = reservation(string.sub(KEYS[6 + i], id_at))
  if holder then return before == number and 'progress' or 'reused ' .. decimal(before) end
end

local function answer_to(i, kind, start, text, reserved_ones)
  local number = kind.number
  if number < 1 then return 'invalid' end
  if text or reserved_ones then
    local ok, answer = pcall(known, i, text, number)
    if not ok and type(answer) == 'table' and answer.why then return 'broken ' .. answer.why end
    if not ok then error(answer) end
    if answer then return answer end
  end
  local segment = place(start)
  if free[segment] >= number then return sell_out_of(segment, i, kind) end
  local parts = choose(number, start)
  if not parts then return 'short ' .. decimal(sum_free) .. ' ' .. decimal(sum_aside) end
  for _, part in ipairs(parts) do deduct(part[1], part[2]) end
  return sell(i, number, texts(kind, join(parts)))
end

-- The taken count first: it is not known yet whether that is a number for the server, too. After it only a right can be
-- missing, that to write a record or a quantity, which comes last: then all is taken back.
local function write()
  for _, key in ipairs(old_ones) do call('PEXPIRE', key, keep) end
  if sum == 0 then return end
  local written = {}
  counted({{book, 'taken', sum}}, function()
    for i = 1, wanted do
      if new[i] then
        call('SET', KEYS[6 + i], new[i], 'PX', keep)
        written[#written + 1] = KEYS[6 + i]
      end
    end
    local quantities = {}
    for segment in pairs(touched) do
      quantities[#quantities + 1] = segment
      quantities[#quantities + 1] = free[segment]
    end
    put(unpack(quantities))
  end, function()
    if #written > 0 then call('DEL', unpack(written)) end
  end)
end

return run(function()
  sweep()
  load()
  check_taken(0)
  local texts_before, reserved_ones = ask('MGET', unpack(KEYS, 7)), ask('HLEN', open) > 0
  local answers, each = {'served'}, #ARGV > 4
  local kind, start = kind_of(ARGV[3]), ARGV[4] - 1
  for i = 1, wanted do
    if each then kind, start = kind_of(ARGV[2 * i + 1]), ARGV[2 * i + 2] - i end
    answers[i + 1] = answer_to(i, kind, start + i, texts_before[i], reserved_ones)
  end
  check_taken(sum)
  write()
  return answers
end)
