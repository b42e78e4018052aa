-- SPDX-License-Identifier: Apache-2.0
-- ARGV: id, quantity, start, only this segment or "", keep ms, owner or "" (for good), ttl ms
-- {taken, parts} {taken, parts, segments} {reserved, parts, token} {repeated, parts} {short, available, reserved} {progress} {refunded} {restock}
-- {reused, quantity}
--- after counters_*.lua
--- include parts/run.lua
--- include parts/place.lua
--- include parts/counted.lua
local id, number, start, only, keep, owner, ttl = unpack(ARGV)
number = whole(number)

-- Most takes: for good, out of the segment at `start`, with nothing known of the request and nothing set aside. Where
-- it returns nothing, nothing has changed. It says how many segments there are, so that take_at_once_*.lua can serve the
-- next one.
local function at_once()
  if owner ~= '' or only ~= '' or not number or number < 1 then return end
  if ask('GET', request) or ask('HLEN', open) > 0 then return end
  local segment = place(start)
  local here, so_far = whole(count(segment)), whole(taken_so_far)
  if not here or here < number or not so_far or so_far > 9007199254740992 - number then return end
  local text = segment .. ':' .. ARGV[2]
  return counted({{change, segment, -number}, {book, 'taken', number}}, function()
    call('SET', request, made .. ' T ' .. ARGV[2] .. ' ' .. text .. ' - 0', 'PX', keep)
    return {'taken', text, decimal(segments)}
  end)
end

-- All others. To make its functions takes longer than most takes do.
local function at_length()
--- include parts/choose.lua
--- include parts/again.lua
--- include parts/record.lua
--- include parts/check_taken.lua
  -- Takes the parts for good, or sets them aside for an owner; `text` is theirs.
  local function deduct(id, number, parts, text, owner, ttl, keep)
    check_taken(total(parts))
    if owner == '' then
      local steps = {{book, 'taken', total(parts)}}
      for _, part in ipairs(parts) do steps[#steps + 1] = {change, part[1], -part[2]} end
      return counted(steps, function()
        record('T', number, text, '-', 0, keep)
        return {'taken', text}
      end)
    end
    load()
    local steps = {}
    for _, part in ipairs(parts) do
      steps[#steps + 1] = {change, part[1], -part[2]}
      steps[#steps + 1] = {set_aside, part[1], part[2]}
    end
    return counted(steps, function()
      -- Neither a token nor an end means anything by itself; whoever may draw one may write a reservation.
      local token = draw_token()
      call('ZADD', ends, ms + ttl, id)
      call('HSET', open, id, owner .. ' ' .. decimal(number) .. ' ' .. text)
      return {'reserved', text, token}
    end)
  end

  -- Without a look at all segments if the one at `start` has enough.
  local function pick()
    if only ~= '' then
      load()
      local segment = tonumber(only)
      return segment < segments and free[segment] and free[segment] >= number and {{segment, number}}
    end
    local here = whole(count(place(start)))
    if here and here >= number then return {{place(start), number}} end
    load()
    return choose(number, start)
  end

  if not number or number < 1 then return {'invalid'} end
  local old = again(id, number, owner, ttl, keep)
  if old then return old end
  local parts = pick()
  if not parts then
    load()
    return {'short', decimal(sum_free), decimal(sum_aside)}
  end
  return deduct(id, number, parts, join(parts), owner, ttl, keep)
end

return run(at_length, at_once)
