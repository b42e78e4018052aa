-- SPDX-License-Identifier: Apache-2.0
local function record_at(key, state, number, parts, owner, back, keep)
  local text = made .. ' ' .. state .. ' ' .. decimal(number) .. ' ' .. parts .. ' ' .. owner .. ' ' .. decimal(back)
  call('SET', key, text, 'PX', keep)
end
local function record(...) record_at(request, ...) end
