-- SPDX-License-Identifier: Apache-2.0
-- Changes nothing.
--- after key_*.lua
return answer(held and -1 or 0)
