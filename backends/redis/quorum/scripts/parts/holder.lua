-- SPDX-License-Identifier: Apache-2.0
local run, uptime, aof = '', -1, ''
if introduce == '1' then
  local server, disk = try('INFO', 'server'), try('INFO', 'persistence')
  if type(server) == 'string' and type(disk) == 'string' then
    run = string.match(server, 'run_id:(%w+)') or ''
    uptime = tonumber(string.match(server, 'uptime_in_seconds:(%d+)') or -1)
    aof = string.match(disk, 'aof_enabled:(%d)') or ''
  end
end
-- Of a key that is not a lock of ours: its type.
local kind = ''
if other then
  kind = type(held) == 'string' and 'string of ' .. #held .. ' bytes' or try('TYPE', key).ok or ''
  held = ''
end
-- A record that is of no use is none: its holder is then another program, until we enter.
local record = held and try('HGET', holders, held)
if type(record) ~= 'string' then record = '' end
local token, since, delay, entries, who = string.match(record, '^(%S+) (%S+) (%S+) (%S+) (.*)$')
local function answer(state) return {state, us, call('PTTL', key), held or '', counter, run, uptime, record} end
local function raise(to, by)
  if to <= counter then return end
  local done = (by or try)('SET', fence, string.format('%.0f', to))
  if not done.err then counter = to end
end
local function write(lease)
  record = token .. ' ' .. since .. ' ' .. delay .. ' ' .. entries .. ' ' .. who
  call('HSET', holders, owner, record)
  call('PEXPIRE', holders, lease or math.max(call('PTTL', key), 1))
end
local function enter(with, lease)
  if entry == '' and not entries then return end
  call('HDEL', holders, '')
  if not entries then
    call('DEL', holders)
    since, delay, entries, who = string.format('%.0f', math.floor(us / 1000)), '0', entry, info
  elseif not string.find(entries, entry, 1, true) then
    entries = entries .. ',' .. entry
  end
  if with ~= '0' then token = with end
  token = token or '0'
  write(lease)
end
if other then
  record = kind
  return answer(-2)
end
