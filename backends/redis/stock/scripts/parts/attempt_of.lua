-- SPDX-License-Identifier: Apache-2.0
-- "@ATTEMPT" behind the parts of a request that was committed over several slots.
local function attempt_of(parts) return string.match(parts, '@.*$') or '' end
