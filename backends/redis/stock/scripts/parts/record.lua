-- SPDX-License-Identifier: Apache-2.0
local function record(state, number, parts, owner, back, keep)
  local text = made .. ' ' .. state .. ' ' .. decimal(number) .. ' ' .. parts .. ' ' .. owner .. ' ' .. decimal(back)
  call('SET', request, text, 'PX', keep)
end
