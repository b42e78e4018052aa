// SPDX-License-Identifier: Apache-2.0
// The script that takes a lock, state by state, on a real Redis.
#include "tests/conformance/redis/native_scripts.h"

namespace dlock::redis::redis_scripts {

TEST_CASE("redis scripts: acquire, exclusive") {
  check({
      {"free",
       {},
       "acquire me x 100000 0 who '' '' 0 30000",
       "granted {us}",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s"},
      {"free, and the counter is ahead of the clock",
       {"SET fence 9000000000000000"},
       "acquire me x 100000 0 who '' '' 0 30000",
       "granted 9000000000000001",
       "lock me for 100s, fence 9000000000000001, holders me 9000000000000001_{+0}_0_me_who for 100s"},
      {"free, and the counter is beyond what a number of Lua can count",
       {"SET fence 9007199254740992"},
       "acquire me x 100000 0 who '' '' 0 30000",
       "granted 9007199254740993",
       "lock me for 100s, fence 9007199254740993, holders me 9007199254740993_{+0}_0_me_who for 100s"},
      {"free, with a lock-delay that is in the lease",
       {},
       "acquire me x 100000 0 who '' '' 200000 30000",
       "granted {us}",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_200s_me_who for 100s"},
      {"free, and records of an earlier holder are left",
       {kOthersRecord},
       "acquire me x 100000 0 who '' '' 0 30000",
       "granted {us}",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s"},
      {"ours: the answer was lost",
       {kHeldByMe, kMyRecord},
       "acquire me x 100000 0 who '' '' 0 30000",
       "granted 7",
       "lock me for 100s, holders me 7_5_0_me_who for 100s"},
      {"ours, for longer",
       {"SET lock me PX 500000", kMyRecord},
       "acquire me x 100000 0 who '' '' 0 30000",
       "granted 7",
       "lock me for 500s, holders me 7_5_0_me_who for 500s"},
      {"another's",
       {kHeldByOther, kOthersRecord},
       "acquire me x 100000 0 who '' '' 0 30000",
       "busy 500s 0 '' 0 0",
       "lock other for 500s, holders other 7_5_0_other_who"},
      {"another program's",
       {kHeldByOther},
       "acquire me x 100000 0 who '' '' 0 30000",
       "busy 500s 0 '' 1 0",
       "lock other for 500s"},
      {"another program's, without an end",
       {"SET lock other"},
       "acquire me x 100000 0 who '' '' 0 30000",
       "busy -1 0 '' 1 0",
       "lock other"},
      {"another kind of key",
       {"HSET lock a b"},
       "acquire me x 100000 0 who e '' 0 100000",
       "busy -1 0 {us} 1 0",
       "lock a b, queue me {us} for 3600s, waiting me {+100}_{+0}_x_0_who for 3600s"},
      {"shared ones hold it",
       {"SET lock dlock:shared PX 500000", "HSET holders other 7_5_0_other_who", "ZADD ends {+500} other"},
       "acquire me x 100000 0 who '' '' 0 30000",
       "busy 500s 0 '' 0 0",
       "lock dlock:shared for 500s, holders other 7_5_0_other_who, ends other {+500}"},
      {"shared ones held it",
       {"SET lock dlock:shared PX 500000", "HSET holders other 7_5_0_other_who", "ZADD ends 5 other"},
       "acquire me x 100000 0 who '' '' 0 30000",
       "granted {us}",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s"},
  });
}

TEST_CASE("redis scripts: acquire, queue") {
  check({
      {"enters",
       {kHeldByOther, kOthersRecord},
       "acquire me x 100000 0 who e '' 0 100000",
       "busy 500s 0 {us} 0 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me {us} for 3600s, waiting me {+100}_{+0}_x_0_who "
       "for "
       "3600s"},
      {"enters, and has to look by itself",
       {kHeldByOther, kOthersRecord},
       "acquire me x 100000 0 who ep '' 0 100000",
       "busy 500s 0 {us} 0 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me {us} for 3600s, waiting me {+100}_{+0}_x_1_who "
       "for "
       "3600s"},
      {"comes again with its arrival",
       {kHeldByOther, kOthersRecord, "ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who e 800 0 100000",
       "busy 500s 0 800 0 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me 800 b 900 for 3600s, waiting b {+100}_0_x_0_who "
       "me "
       "{+100}_0_x_0_who for 3600s"},
      {"behind one that is alive",
       {kHeldByOther, kOthersRecord, "ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who e '' 0 100000",
       "busy 500s 1 {us} 0 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue b 900 me {us} for 3600s, waiting b {+100}_0_x_0_who "
       "me {+100}_{+0}_x_0_who for 3600s"},
      {"behind one that is dead, and one without a record",
       {kHeldByOther, kOthersRecord, "ZADD queue 900 b 901 c", "HSET waiting b -5_0_x_0_who"},
       "acquire me x 100000 0 who e '' 0 100000",
       "busy 500s 0 {us} 0 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me {us} for 3600s, waiting me {+100}_{+0}_x_0_who "
       "for "
       "3600s"},
      {"free, and who waits is passed by",
       {"ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who '' '' 0 30000",
       "granted {us}",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s, queue b 900, waiting b {+100}_0_x_0_who"},
      {"free and fair, one waits",
       {"ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who f '' 0 30000",
       "busy -2 1 '' 0 0",
       "queue b 900, waiting b {+100}_0_x_0_who"},
      {"free and fair, one was silent for too long: perhaps the server was",
       {"ZADD queue 900 b", "HSET waiting b 5_0_x_0_who"},
       "acquire me x 100000 0 who f '' 0 30000",
       "busy -2 1 '' 0 0",
       "queue b 900, waiting b -{+0}_0_x_0_who"},
      {"free and fair, several were silent for too long: they are missed from the same moment on",
       {"ZADD queue 900 b 901 c 902 d", "HSET waiting b 5_0_x_0_who c 5_0_x_0_who d {+100}_0_x_0_who"},
       "acquire me x 100000 0 who f '' 0 30000",
       "busy -2 3 '' 0 0",
       "queue b 900 c 901 d 902, waiting b -{+0}_0_x_0_who c -{+0}_0_x_0_who d {+100}_0_x_0_who"},
      {"free and fair, one waited",
       {"ZADD queue 900 b", "HSET waiting b -5_0_x_0_who"},
       "acquire me x 100000 0 who f '' 0 30000",
       "granted {us}",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s"},
      {"free, fair, and our turn",
       {"ZADD queue 900 me 901 b", "HSET waiting me {+100}_0_x_0_who b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who ef 900 0 30000",
       "granted {us}",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s, queue b 901, waiting b {+100}_0_x_0_who"},
      {"only waits, free", {}, "acquire me x 100000 0 who ew '' 0 30000", "free", ""},
      {"only waits, another's",
       {kHeldByOther, kOthersRecord},
       "acquire me x 100000 0 who ew '' 0 100000",
       "busy 500s 0 {us} 0 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me {us} for 3600s, waiting me {+100}_{+0}_w_0_who "
       "for "
       "3600s"},
  });
}

TEST_CASE("redis scripts: acquire, shared and permits") {
  const std::vector<const char*> shared{"SET lock dlock:shared PX 20000", "HSET holders other 7_5_0_other_who",
                                        "ZADD ends {+10} other"};
  const std::vector<const char*> permits{"SET lock dlock:permits:2 PX 500000", "HSET holders other 7_5_0_other_who",
                                         "ZADD ends {+500} other"};
  const auto with = [](std::vector<const char*> commands, std::initializer_list<const char*> more) {
    commands.insert(commands.end(), more);
    return commands;
  };
  check({
      {"shared, free",
       {},
       "acquire me s 100000 0 who '' '' 0 30000",
       "granted {us}",
       "lock dlock:shared for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s, ends me {+100} for 100s"},
      {"shared beside another", shared, "acquire me s 100000 0 who '' '' 0 30000", "granted {us}",
       "lock dlock:shared for 100s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who for 100s, ends "
       "other {+0} me {+100} for 100s"},
      {"shared, ours: the answer was lost",
       {"SET lock dlock:shared PX 20000", kMyRecord, "ZADD ends {+10} me"},
       "acquire me s 100000 0 who '' '' 0 30000",
       "granted 7",
       "lock dlock:shared for 100s, holders me 7_5_0_me_who for 100s, ends me {+100} for 100s"},
      {"shared, exclusive one holds it",
       {kHeldByOther, kOthersRecord},
       "acquire me s 100000 0 who '' '' 0 30000",
       "busy 500s 0 '' 0 0",
       "lock other for 500s, holders other 7_5_0_other_who"},
      {"shared, held with permits", permits, "acquire me s 100000 0 who '' '' 0 30000", "conflict dlock:permits:2",
       "lock dlock:permits:2 for 500s, holders other 7_5_0_other_who, ends other {+500}"},
      {"shared, an exclusive one waits", with(shared, {"ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"}),
       "acquire me s 100000 0 who '' '' 0 30000", "busy 0s 1 '' 0 0",
       "lock dlock:shared for 0s, holders other 7_5_0_other_who, ends other {+0}, queue b 900, waiting b "
       "{+100}_0_x_0_who"},
      {"shared, shared ones wait", with(shared, {"ZADD queue 900 b", "HSET waiting b {+100}_0_s_1_who"}),
       "acquire me s 100000 0 who '' '' 0 30000", "granted {us}",
       "lock dlock:shared for 100s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who for 100s, ends "
       "other {+0} me {+100} for 100s, queue b 900, waiting b {+100}_0_s_1_who"},
      {"shared, one waits that takes nothing", with(shared, {"ZADD queue 900 b", "HSET waiting b {+100}_0_w_1_who"}),
       "acquire me s 100000 0 who '' '' 0 30000", "granted {us}",
       "lock dlock:shared for 100s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who for 100s, ends "
       "other {+0} me {+100} for 100s, queue b 900, waiting b {+100}_0_w_1_who"},
      {"shared, behind one that takes nothing a writer waited",
       with(shared, {"ZADD queue 900 b 901 c", "HSET waiting b {+100}_0_w_1_who c -5_0_x_0_who"}),
       "acquire me s 100000 0 who '' '' 0 30000", "granted {us}",
       "lock dlock:shared for 100s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who for 100s, ends "
       "other {+0} me {+100} for 100s, queue b 900, waiting b {+100}_0_w_1_who"},
      {"shared, behind one that takes nothing a writer was silent for too long: perhaps the server was",
       with(shared, {"ZADD queue 900 b 901 c", "HSET waiting b {+100}_0_w_1_who c 5_0_x_0_who"}),
       "acquire me s 100000 0 who '' '' 0 30000", "busy 0s 2 '' 0 0",
       "lock dlock:shared for 0s, holders other 7_5_0_other_who, ends other {+0}, queue b 900 c 901, waiting b "
       "{+100}_0_w_1_who c -{+0}_0_x_0_who"},
      {"shared, one behind that which takes nothing is told",
       {"ZADD queue 900 b 901 c", "HSET waiting b {+100}_0_w_0_who c {+100}_0_s_0_who"},
       "acquire me s 100000 0 who '' '' 0 30000",
       "granted {us}",
       "lock dlock:shared for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s, ends me {+100} for 100s, "
       "queue b 900 c 901, waiting b {+100}_0_w_0_who c -{+0}_0_s_0_who"},
      {"permits, free",
       {},
       "acquire me p 100000 2 who '' '' 0 30000 ''",
       "granted {us} 0",
       "lock dlock:permits:2 for 100s, fence {us}, holders me {us}_{+0}_0_me_who\x1f"
       "0 for 100s, ends me {+100} for 100s"},
      {"permits, one is left", permits, "acquire me p 100000 2 who '' '' 0 30000 ''", "granted {us} 0",
       "lock dlock:permits:2 for 500s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who\x1f"
       "0 for 500s, ends "
       "me {+100} other {+500} for 500s"},
      {"permits, one is left and one waits", with(permits, {"ZADD queue 900 b", "HSET waiting b {+100}_0_p_1_who"}),
       "acquire me p 100000 2 who '' '' 0 30000 ''", "busy 500s 1 '' 0 0",
       "lock dlock:permits:2 for 500s, holders other 7_5_0_other_who, ends other {+500}, queue b 900, waiting b "
       "{+100}_0_p_1_who"},
      {"permits, one is left and one waits that takes nothing",
       with(permits, {"ZADD queue 900 b", "HSET waiting b {+100}_0_w_1_who"}),
       "acquire me p 100000 2 who '' '' 0 30000 ''", "granted {us} 0",
       "lock dlock:permits:2 for 500s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who\x1f"
       "0 for 500s, ends me {+100} other {+500} for 500s, queue b 900, waiting b {+100}_0_w_1_who"},
      {"permits, one is left and behind one that takes nothing one waited",
       with(permits, {"ZADD queue 900 b 901 c", "HSET waiting b {+100}_0_w_1_who c -5_0_p_1_who"}),
       "acquire me p 100000 2 who '' '' 0 30000 ''", "granted {us} 0",
       "lock dlock:permits:2 for 500s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who\x1f"
       "0 for 500s, ends me {+100} other {+500} for 500s, queue b 900, waiting b {+100}_0_w_1_who"},
      {"permits, one is left and behind one that takes nothing one waits",
       with(permits, {"ZADD queue 900 b 901 c", "HSET waiting b {+100}_0_w_1_who c {+100}_0_p_1_who"}),
       "acquire me p 100000 2 who '' '' 0 30000 ''", "busy 500s 2 '' 0 0",
       "lock dlock:permits:2 for 500s, holders other 7_5_0_other_who, ends other {+500}, queue b 900 c 901, waiting b "
       "{+100}_0_w_1_who c {+100}_0_p_1_who"},
      {"permits, none is left: told when the first one ends", with(permits, {"ZADD ends {+300} more"}),
       "acquire me p 100000 2 who '' '' 0 30000 ''", "busy 300s 0 '' 0 0",
       "lock dlock:permits:2 for 500s, holders other 7_5_0_other_who, ends more {+300} other {+500}"},
      {"permits, none is left, one waits: told when the second one ends",
       with(permits, {"ZADD ends {+300} more", "ZADD queue 900 b", "HSET waiting b {+100}_0_p_1_who"}),
       "acquire me p 100000 2 who '' '' 0 30000 ''", "busy 500s 1 '' 0 0",
       "lock dlock:permits:2 for 500s, holders other 7_5_0_other_who, ends more {+300} other {+500}, queue b 900, "
       "waiting b {+100}_0_p_1_who"},
      {"permits, the lease of one is over", with(permits, {"ZADD ends 5 over", "HSET holders over 7_5_0_over_who"}),
       "acquire me p 100000 2 who '' '' 0 30000 ''", "granted {us} 0",
       "lock dlock:permits:2 for 500s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who\x1f"
       "0 for 500s, ends "
       "me {+100} other {+500} for 500s"},
      {"permits, another number of them", permits, "acquire me p 100000 3 who '' '' 0 30000 ''",
       "conflict dlock:permits:2", "lock dlock:permits:2 for 500s, holders other 7_5_0_other_who, ends other {+500}"},
  });
}

TEST_CASE("redis scripts: acquire, slots") {
  // "\x1f": between the parts of what a holder says of itself; the fifth one is its slot.
  const std::vector<const char*> zero{"SET lock dlock:permits:3 PX 500000",
                                      "HSET holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
                                      "0",
                                      "ZADD ends {+500} a"};
  const auto with = [&](std::initializer_list<const char*> more) {
    std::vector<const char*> commands = zero;
    commands.insert(commands.end(), more);
    return commands;
  };
  check({
      {"the lowest free one",
       with({"HSET holders b 8_5_0_b_h\x1fp\x1fu\x1fr\x1f"
             "2",
             "ZADD ends {+500} b"}),
       "acquire me p 100000 3 h '' '' 0 30000 ''", "granted {us} 1",
       "lock dlock:permits:3 for 500s, fence {us}, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0 b "
       "8_5_0_b_h\x1fp\x1fu\x1fr\x1f"
       "2 me {us}_{+0}_0_me_h\x1f"
       "1 for 500s, ends me {+100} a {+500} b {+500} for 500s"},
      {"the first of ours that nobody has", zero, "acquire me p 100000 3 h '' '' 0 30000 0,db,c", "granted {us} db",
       "lock dlock:permits:3 for 500s, fence {us}, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0 me {us}_{+0}_0_me_h\x1f"
       "db "
       "for 500s, ends me {+100} a {+500} for 500s"},
      {"a holder of an earlier dlock has none", with({"HSET holders b 8_5_0_b_h\x1fp\x1fu\x1fr", "ZADD ends {+500} b"}),
       "acquire me p 100000 3 h '' '' 0 30000 ''", "granted {us} 1",
       "lock dlock:permits:3 for 500s, fence {us}, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0 b 8_5_0_b_h\x1fp\x1fu\x1fr me "
       "{us}_{+0}_0_me_h\x1f"
       "1 for 500s, ends me {+100} a {+500} b {+500} for 500s"},
      {"a holder whose record is gone may have any of them",
       {"SET lock dlock:permits:3 PX 500000",
        "HSET holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
        "0",
        "ZADD ends {+500} a {+300} b"},
       "acquire me p 100000 3 h '' '' 0 30000 ''",
       "busy 300s 0 '' 0 0",
       "lock dlock:permits:3 for 500s, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0, ends b {+300} a {+500}"},
      {"of one whose lease is over it is free",
       {"SET lock dlock:permits:2 PX 500000",
        "HSET holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
        "0",
        "ZADD ends 5 a",
        "HSET holders b 8_5_0_b_h\x1fp\x1fu\x1fr\x1f"
        "1",
        "ZADD ends {+500} b"},
       "acquire me p 100000 2 h '' '' 0 30000 ''",
       "granted {us} 0",
       "lock dlock:permits:2 for 500s, fence {us}, holders b 8_5_0_b_h\x1fp\x1fu\x1fr\x1f"
       "1 me {us}_{+0}_0_me_h\x1f"
       "0 for "
       "500s, ends me {+100} b {+500} for 500s"},
      {"ours: the answer was lost", zero, "acquire a p 100000 3 h '' '' 0 30000 ''", "granted 7 0",
       "lock dlock:permits:3 for 500s, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0 for 500s, ends a {+100} for 500s"},
      {"a renewal keeps it", with({"PEXPIRE holders 500000"}), "renew a 100000 0", "renewed {us} 7",
       "lock dlock:permits:3 for 500s, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0 for 500s, ends a {+500} for 500s"},
      {"who leaves it to those inside keeps it",
       {"SET lock dlock:permits:3 PX 500000",
        "HSET holders a 7_5_0_a,b_h\x1fp\x1fu\x1fr\x1f"
        "0",
        "ZADD ends {+500} a"},
       "release a a",
       "released 1",
       "lock dlock:permits:3 for 500s, holders a 7_5_0_b_h\x1fp\x1fu\x1fr\x1f"
       "0, ends a {+500}"},
  });
}

}  // namespace dlock::redis::redis_scripts
