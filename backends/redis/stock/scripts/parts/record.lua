-- SPDX-License-Identifier: Apache-2.0
-- refunds: as in recorded(), or nil
local function record(state, number, parts, owner, back, keep, refunds)
  local text = made .. ' ' .. state .. ' ' .. decimal(number) .. ' ' .. parts .. ' ' .. owner .. ' ' .. decimal(back)
  if refunds then text = text .. ' ' .. refunds end
  call('SET', request, text, 'PX', keep)
end
