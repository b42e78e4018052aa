-- SPDX-License-Identifier: Apache-2.0
-- What is not as any version of Redisson writes it. Nothing has been changed.
local function bad(what, value)
  local text = string.gsub(value, '[^%w%p ]', '?')
  return {'bad', what .. ' is "' .. string.sub(text, 1, 40) .. '"'}
end
