-- SPDX-License-Identifier: Apache-2.0
-- Common part of the scripts of a stock; what keeps the quantities comes after it. stock_names.h says what the keys
-- hold.
local meta, quantity, reserved, open, ends, request = unpack(KEYS)
local call, try = redis.call, redis.pcall
local function decimal(number) return string.format('%.0f', number) end
-- The data are to blame.
local function broken(why) error({why = why}) end
-- A read; what it cannot read ends the script.
local function ask(...)
  local answer = try(...)
  if type(answer) == 'table' and answer.err then error(answer) end
  return answer
end
local function whole(text)
  local number = text and string.match(text, '^%d+$') and tonumber(text)
  if number and number <= 9007199254740992 then return number end
end
