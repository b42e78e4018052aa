-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, quantity or "", keep ms, word of the refund ("-": it has no id), how many refunds a request can have
-- {nothing} {back, parts} {running} {restock} {more, taken, refunded} {otherwise, before} {many}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/recorded.lua
--- include parts/sweep.lua
--- include parts/record.lua
--- include parts/counted.lua
--- include parts/lists.lua
--- include parts/place.lua
local id, number, keep, word, most = unpack(ARGV)

-- The refunds, in their order: {word, quantity} each. One without an id that is the only one stands in the sum alone.
local function refunds_of(old)
  local list = {}
  for of, some in string.gmatch(old.refunds, '([%x-]+):(%d+)') do list[#list + 1] = {of, tonumber(some)} end
  if #list == 0 and old.back > 0 then list[1] = {'-', old.back} end
  return list
end

-- `want` of the parts that were taken, after the first `skip`.
local function part_of(text, skip, want)
  local back = {}
  for _, part in ipairs(split(text)) do
    local passed = math.min(skip, part[2])
    local some = math.min(want, part[2] - passed)
    if some > 0 then back[#back + 1] = {part[1], some} end
    skip, want = skip - passed, want - some
  end
  return back
end

local function refund(old, want, refunds)
  local back, words = part_of(old.parts, old.back, want), nil
  if #refunds > 0 or word ~= '-' then
    refunds[#refunds + 1] = {word, want}
    words = join(refunds)
  end
  load()
  call('HDEL', meta, '')
  local steps = {{book, 'refunded', want}}
  for _, part in ipairs(back) do steps[#steps + 1] = {change, place(part[1]), part[2]} end
  return counted(steps, function()
    record('G', old.number, old.parts, old.owner, old.back + want, keep, words)
    return {'back', join(back)}
  end)
end

-- The answer if it was refunded under this word before, or nothing.
local function refunded_before(old, refunds)
  local before = 0
  for _, one in ipairs(refunds) do
    if one[1] == word then
      local same = whole(number) == one[2]
      if number == '' then same = before + one[2] == old.number end
      if not same then return {'otherwise', decimal(one[2])} end
      call('PEXPIRE', request, keep)
      return {'back', join(part_of(old.parts, before, one[2]))}
    end
    before = before + one[2]
  end
end

return run(function()
  local old = recorded()
  if not old then
    sweep()
    if reservation(id) then return {'running'} end
    record('X', 0, '-', '-', 0, keep)
    return {'nothing'}
  end
  if old.state == 'A' then return {'restock'} end
  if old.state == 'X' then
    call('PEXPIRE', request, keep)
    return {'nothing'}
  end
  local left = old.number - old.back
  local want = left
  if number ~= '' then want = whole(number) end
  if not want then return {'invalid'} end
  local refunds = refunds_of(old)
  local answer = refunded_before(old, refunds)
  if answer then return answer end
  if want < 1 or want > left then return {'more', decimal(old.number), decimal(old.back)} end
  if #refunds >= tonumber(most) then return {'many'} end
  return refund(old, want, refunds)
end)
