-- SPDX-License-Identifier: Apache-2.0
-- ARGV: a key, commands. Which of these the user may not use on it; none if that holds for all (it is the key then), or
-- if the server does not report them (before 7.0).
local key, missing = ARGV[1], {}
for i = 2, #ARGV do
  local known, may = pcall(redis.acl_check_cmd or error, ARGV[i], key, key, key)
  if known and not may then missing[#missing + 1] = ARGV[i] end
end
return #missing < #ARGV - 2 and missing or {}
