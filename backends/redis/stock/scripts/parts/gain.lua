-- SPDX-License-Identifier: Apache-2.0
-- More can be taken than before, which who looks at several slots has to know.
local function gain(segment, by)
  if STEP > 1 then call('HINCRBY', meta, 'gains', '1') end
  change(segment, by)
end
