-- SPDX-License-Identifier: Apache-2.0
--- include parts/join.lua
-- What other slots still have to get for a request ("-": nothing); with a book ("r ", "a "), writes it down.
local function pending_credit(id, book, parts)
  if not book then return ask('HGET', credits, id) or '-' end
  if #parts == 0 then return '-' end
  call('HSET', credits, id, book .. join(parts))
  return book .. join(parts)
end
