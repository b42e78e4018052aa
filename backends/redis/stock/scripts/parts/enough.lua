-- SPDX-License-Identifier: Apache-2.0
-- Of the text `here`, what can be taken. No more digits than Lua counts exactly; that both are numbers for the server, too,
-- it finds out of this one by the first write, and of what was taken so far it is seen here: no write after it fails.
if not here or #here > 15 or here - number < 0 then return end
if #taken > 15 or taken ~= '0' and not string.find(taken, '^[1-9]%d*$') then return end
