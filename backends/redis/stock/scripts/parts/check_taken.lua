-- SPDX-License-Identifier: Apache-2.0
-- The count ever taken must be a number that stays exact.
local function check_taken(more)
  local so_far = whole(taken_so_far)
  if not so_far then broken('it does not know what was taken') end
  if so_far > 9007199254740992 - more then broken('it has sold as many items as it can count; drop it and create it again') end
end
