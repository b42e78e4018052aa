-- SPDX-License-Identifier: Apache-2.0
-- The quantities are the fields of one hash. What all counters_*.lua have: read several or one (false: none), change,
-- put(SEGMENT, QUANTITY, ...), forget.
--- include parts/prologue.lua
local function counts(segments) return ask('HMGET', quantity, unpack(segments)) end
local function count(segment) return ask('HGET', quantity, segment) end
local function change(segment, by) call('HINCRBY', quantity, segment, by) end
local function put(...) call('HSET', quantity, ...) end
local function forget(segment) call('HDEL', quantity, segment) end
