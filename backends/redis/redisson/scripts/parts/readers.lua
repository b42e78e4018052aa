-- SPDX-License-Identifier: Apache-2.0
-- Each of the COUNT reads of a reader has a key with a life of its own. The counts are other programs': they may be
-- anything.
local function timeout_of(field, number) return stem .. ':' .. field .. ':rwlock_timeout:' .. number end
local function reads_in(count) return math.min(tonumber(count) or 0, 1000) end
local function is_reader(field) return field ~= 'mode' and not string.find(field, ':write$') end

-- How long the longest of its reads has to go; -2: none of them is there.
local function rest_of(field, count)
  local rest = -2
  for number = 1, reads_in(count) do rest = math.max(rest, call('PTTL', timeout_of(field, number))) end
  return rest
end
