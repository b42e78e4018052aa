-- SPDX-License-Identifier: Apache-2.0
-- KEYS: the group's hash, and the keys of rows that are many, in the order in which they come up
-- ARGV: ms for which these are kept; then each commit: how many changes it has, and these. Of a row in the hash: =VERSION
-- field text, -VERSION field, ?VERSION field, + field numbers; of one that is many: PVERSION text, RVERSION, CVERSION; #;
-- <CLOCK. In = and P the version _ stands for none, or a row without text.
-- {number or 0, ...}, one for each; where the server refuses to write, an error's text stands for that one and the rest,
-- or is the answer if that is the first one
-- A row is its version, a blank and its text. The field "" is the last commit's number and that of the first one since
-- there is the group: a row of many that is older was one of a group of that name before.
local call, try, hash, keep = redis.call, redis.pcall, KEYS[1], ARGV[1]
local match, sub, format, most = string.match, string.sub, string.format, 9007199254740992
local time = call('TIME')
local clock = time[1] * 1000000 + time[2]
local last, first = 0
-- Most commits are a take: a new request, and a row of four numbers that has enough. What is made for all others costs a
-- server as much as that does.
local takes = #ARGV == 7 and ARGV[3] == 'P0' and ARGV[5] == '+'
local known, row = unpack(call('HMGET', hash, '', takes and ARGV[6] or ''))
if known then
  last, first = match(known, '^(%d+) (%d+)$')
  last, first = tonumber(last), tonumber(first)
end

if first and takes then
  local a, b, c, d = match(row or '', '^%d+ (%d+) (%d+) (%d+) (%d+)$')
  local less, more = match(ARGV[7], '^(%-%d+) 0 (%d+) 0$')
  local text = format('%.0f', math.max(last + 1, clock))
  if a and less and a + less >= 0 and more + 0 <= most - c
    and call('SET', KEYS[2], text .. ' ' .. ARGV[4], 'PX', keep, 'NX') then
    local done = redis.pcall('HSET', hash, '', text .. ' ' .. format('%.0f', first), ARGV[6],
      text .. format(' %.0f ', a + less) .. b .. format(' %.0f ', c + more) .. d)
    if type(done) == 'number' then return {text} end
    call('SET', KEYS[2], '0', 'PX', 1)
    return done
  end
end

local at, key, failure, answers = 2, 1, nil, {}

local function failed(answer)
  failure = failure or type(answer) == 'table' and answer.err or nil
  return failure
end

-- What the row is with the numbers `more` added; nothing if it has none for each, or one of them would be out of range.
local function added(row, more)
  if string.find(row, '[^%d ]') then return end
  local numbers, sum = string.gmatch(match(row, '^%d+ (.*)$') or '', '%d+'), ''
  for by in string.gmatch(more, '%S+') do
    local number = tonumber(numbers())
    by = tonumber(by)
    if not number or number + by < 0 or by > most - number then return end
    sum = sum .. format(' %.0f', number + by)
  end
  return not numbers() and sum
end

-- One that does not have the right to do the rest has done nothing: what can be taken back comes first.
local function write(frees, sets, olds, fields, gone)
  if frees and failed(try('HDEL', hash, '-')) then return end
  for i = 1, #sets, 2 do
    if failed(try('SET', sets[i], sets[i + 1], 'PX', sets[i + 1] == '0' and 1 or keep)) then return end
  end
  if #fields + #sets + #gone > 2 and failed(try('HSET', hash, unpack(fields))) then
    for i = 1, #sets, 2 do
      local old = olds[(i + 1) / 2]
      if old then call('SET', sets[i], old, 'PX', keep) else call('SET', sets[i], '0', 'PX', 1) end
    end
    return
  end
  if #gone > 0 then
    call('HDEL', hash, unpack(gone))
    if #fields == 2 and call('HLEN', hash) == 1 then failed(try('DEL', hash)) end
  end
end

local function is(now, version, wanted)
  return version == wanted or wanted == '_' and (version == '0' or match(now, '^%d+ $'))
end

local function commit(changes)
  local number, fits, new, clears = math.max(last + 1, clock), true, false, false
  local text = format('%.0f', number)
  local sets, olds, gone, fields = {}, {}, {}, {'', text .. ' ' .. format('%.0f', first or number)}
  for _ = 1, changes do
    local kind, wanted, now = sub(ARGV[at], 1, 1), sub(ARGV[at], 2)
    at = at + 1
    if kind == '#' then clears = true
    elseif kind == '<' then fits = fits and clock < tonumber(wanted)
    elseif kind == 'P' or kind == 'C' or kind == 'R' then
      key = key + 1
      now = try('GET', KEYS[key])
      if failed(now) then return 0 end
      local version = now and (match(now, '^%d+') or '1') or '0'
      if not first or tonumber(version) < first then version = '0' end
      fits = fits and is(now, version, wanted)
      if kind ~= 'C' then
        olds[#olds + 1] = version ~= '0' and now
        sets[#sets + 1] = KEYS[key]
        sets[#sets + 1] = kind == 'P' and text .. ' ' .. ARGV[at] or '0'
      end
      if kind == 'P' then at, new = at + 1, new or version == '0' end
    else
      local field = ARGV[at]
      at = at + 1
      now = call('HGET', hash, field)
      local put
      if kind == '+' then
        put = fits and now and added(now, ARGV[at])
        fits, at = put, at + 1
      else
        local version = now and (match(now, '^%d+') or '1') or '0'
        fits = fits and is(now, version, wanted)
        if kind == '=' then
          put = ' ' .. ARGV[at]
          new, at = new or version == '0', at + 1
        elseif kind == '-' then gone[#gone + 1] = field end
      end
      if put then
        fields[#fields + 1] = field
        fields[#fields + 1] = text .. put
      end
    end
  end
  if not fits then return '0' end
  if clears then failed(try('DEL', hash))
  else write(not new or #gone > 0, sets, olds, fields, gone) end
  last, first = number, not clears and (first or number) or nil
  return failure or text
end

while at <= #ARGV and not failure do
  at = at + 1
  answers[#answers + 1] = commit(tonumber(ARGV[at - 1]))
end
if failure then answers[#answers] = failure end
-- The first one's is the answer, which may send us to another server.
return failure and #answers == 1 and {err = failure} or answers
