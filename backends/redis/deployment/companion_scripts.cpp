// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/deployment/companion_scripts.h"

namespace dlock::redis {

// ARGV: wake, token. KEYS[2]: the highest token seen. {passed} {lower, seen}
const char* const kFenceScript = R"(
local seen=redis.call('GET',KEYS[2]) or '0'
local longer=#seen>#ARGV[2] or (#seen==#ARGV[2] and seen>ARGV[2])
if longer then return {'lower',seen} end
redis.call('SET',KEYS[2],ARGV[2])
return {'passed'}
)";

// KEYS: key, fence. ARGV: whether to delete. A counter that is a day behind the clock is not needed: the clock alone
// makes the next token larger.
const char* const kSweepScript = R"(
if redis.call('EXISTS',KEYS[1])==1 then return 0 end
local t=redis.call('TIME')
local f=tonumber(redis.call('GET',KEYS[2]) or '')
if not f or f>(t[1]-86400)*1000000+t[2] then return 0 end
if ARGV[1]=='1' then redis.call('DEL',KEYS[2]) end
return 1
)";

}  // namespace dlock::redis
