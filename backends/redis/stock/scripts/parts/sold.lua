-- SPDX-License-Identifier: Apache-2.0
call('HINCRBY', meta, 'taken', number)
call('SET', request, made .. ' T ' .. number .. ' ' .. segment .. ':' .. number .. ' - 0', 'PX', KEEP)
return 1
