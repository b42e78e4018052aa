-- SPDX-License-Identifier: Apache-2.0
-- One attempt to take a lock. ENTRY names it: a repeated one has the same.
-- ARGV: ... entry, lease in ms, info, mode x|s, flags (q: queues), ms that a waiter in the fair queue may be silent
-- {granted, token} {busy, pttl, place, foreign} {bad, text}
--- include parts/record.lua
-- Data that no version of Redisson writes. Nothing has been changed.
local function bad(what, value)
  local text = string.gsub(value, '[^%w%p ]', '?')
  return {'bad', what .. ' is "' .. string.sub(text, 1, 40) .. '"'}
end
local _, _, _, _, entry, px, info, mode, flags, wait = unpack(ARGV)
px, wait = tonumber(px), tonumber(wait)
local function busy_foreign() return {'busy', call('PTTL', key), 0, 1} end
local function has(entries, one) return entries and string.find(entries, one, 1, true) end
