-- SPDX-License-Identifier: Apache-2.0
local function load()
  if free then return end
  local fields = {}
  for segment = 0, segments - 1 do fields[segment + 1] = decimal(segment) end
  local quantities, asides = counts(fields), ask('HMGET', reserved, unpack(fields))
  free, aside, sum_free, sum_aside = {}, {}, 0, 0
  -- The reserved count of most segments is known without a look at its digits.
  local nothing = '0'
  for i = 1, segments do
    local segment = i - 1
    free[segment], aside[segment] = whole(quantities[i]), asides[i] == nothing and 0 or whole(asides[i])
    if not free[segment] or not aside[segment] then
      broken('segment ' .. decimal(segment) .. ' has ' .. (quantities[i] and '"' .. quantities[i] .. '"' or 'no quantity')
        .. ' and ' .. (asides[i] and '"' .. asides[i] .. '"' or 'nothing') .. ' set aside')
    end
    sum_free, sum_aside = sum_free + free[segment], sum_aside + aside[segment]
  end
end
