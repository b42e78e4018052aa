-- SPDX-License-Identifier: Apache-2.0
-- Of a small hash the value shows whose it is (families.h).
if kind == 'hash' then
  value = call('HGET', lock, 'mode') or call('HLEN', lock) < 100 and call('HKEYS', lock)[1] or kind
end
