-- SPDX-License-Identifier: Apache-2.0
-- Of "SEGMENT:QUANTITY,...": a list of {segment, quantity}.
local function split(text)
  local parts = {}
  for segment, number in string.gmatch(text, '(%d+):(%d+)') do parts[#parts + 1] = {tonumber(segment), tonumber(number)} end
  return parts
end
