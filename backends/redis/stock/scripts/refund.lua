-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, quantity or "", keep ms
-- {nothing} {back, parts} {running} {restock} {more, taken} {otherwise, before}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/recorded.lua
--- include parts/sweep.lua
--- include parts/record.lua
--- include parts/counted.lua
--- include parts/join.lua
--- include parts/place.lua
local id, number, keep = unpack(ARGV)

-- The first of the parts that were taken, as many as are wanted back.
local function parts_back(text, want)
  local back, rest = {}, want
  for _, part in ipairs(split(text)) do
    local some = math.min(rest, part[2])
    if some > 0 then back[#back + 1] = {part[1], some} end
    rest = rest - some
  end
  return back
end

local function refund(old, want, back)
  load()
  call('HDEL', meta, '')
  local steps = {{book, 'refunded', want}}
  for _, part in ipairs(back) do steps[#steps + 1] = {change, place(part[1]), part[2]} end
  return counted(steps, function()
    record('G', old.number, old.parts, old.owner, want, keep)
    return {'back', join(back)}
  end)
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
  local want = old.number
  if number ~= '' then want = whole(number) end
  if not want then return {'invalid'} end
  local back = parts_back(old.parts, want)
  if old.state == 'G' then
    if old.back ~= want then return {'otherwise', decimal(old.back)} end
    call('PEXPIRE', request, keep)
    return {'back', join(back)}
  end
  if want > old.number then return {'more', decimal(old.number)} end
  return refund(old, want, back)
end)
