-- SPDX-License-Identifier: Apache-2.0
--- include parts/place.lua
-- The segment itself if it is one of this slot, else one that is.
local function nearest(segment)
  if segment % STEP == FIRST and segment <= last then return segment end
  return place(math.floor(segment / STEP))
end
