// SPDX-License-Identifier: Apache-2.0
// The scripts of a lock, state by state, on a real Redis.
#include <stdexcept>

#include "backends/redis/deployment/names.h"
#include "backends/redis/deployment/scripts.h"
#include "backends/redis/native/scripts.h"
#include "tests/conformance/script_table.h"

namespace dlock::redis::redis_scripts_test {
namespace {

/// Keys are called by what they are: lock, fence, holders, ends, queue, waiting, fenced.
class Table final : public ScriptTable {
 public:
  using ScriptTable::ScriptTable;

 private:
  Keys keys_of(const LockName& name) override {
    const auto names = native_names(name);
    REQUIRE(names);
    names_ = *names;
    return {{"lock", names_.key},    {"fence", names_.fence},     {"holders", names_.holders}, {"ends", names_.until},
            {"queue", names_.queue}, {"waiting", names_.waiting}, {"fenced", names_.fenced}};
  }

  Command command_of(const std::vector<std::string>& script) override {
    const NativeNames& n = names_;
    Command command{"EVAL", text_of(script[0])};
    if (script[0] == "fence") command.insert(command.end(), {"2", n.key, n.fenced, n.wake});
    else if (script[0] == "sweep") command.insert(command.end(), {"2", n.key, n.fence});
    else if (script[0] == "force")
      command.insert(command.end(),
                     {"7", n.key, n.fence, n.holders, n.until, n.queue, n.waiting, n.forced, n.wake, ""});
    else command.insert(command.end(), {"6", n.key, n.fence, n.holders, n.until, n.queue, n.waiting, n.wake});
    command.insert(command.end(), script.begin() + 1, script.end());
    return command;
  }

  static const char* text_of(const std::string& name) {
    if (name == "acquire") return native_scripts::kAcquire;
    if (name == "renew") return native_scripts::kRenew;
    if (name == "release") return native_scripts::kRelease;
    if (name == "force") return native_scripts::kForce;
    if (name == "look") return native_scripts::kReadState;
    if (name == "fence") return deployment_scripts::kFence;
    if (name == "sweep") return deployment_scripts::kSweep;
    throw std::runtime_error("there is no script " + name);
  }

  NativeNames names_;
};

void check(const std::vector<ScriptRow>& rows) { check_scripts<Table>(rows); }

constexpr const char* kHeldByOther = "SET lock other PX 500000";
constexpr const char* kOthersRecord = "HSET holders other 7_5_0_other_who";
constexpr const char* kHeldByMe = "SET lock me PX 20000";
constexpr const char* kMyRecord = "HSET holders me 7_5_0_me_who";

}  // namespace

TEST_CASE("redis scripts: acquire, exclusive") {
  check({
      {"free",
       {},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "granted {us} me 0",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s"},
      {"free, and the counter is ahead of the clock",
       {"SET fence 9000000000000000"},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "granted 9000000000000001 me 0",
       "lock me for 100s, fence 9000000000000001, holders me 9000000000000001_{+0}_0_me_who for 100s"},
      {"free, with a lock-delay that is in the lease",
       {},
       "acquire me x 100000 0 who '' '' '' '' 200000 30000",
       "granted {us} me 0",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_200s_me_who for 100s"},
      {"free, and records of an earlier holder are left",
       {kOthersRecord},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "granted {us} me 0",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s"},
      {"ours: the answer was lost",
       {kHeldByMe, kMyRecord},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "granted 7 me 0",
       "lock me for 100s, holders me 7_5_0_me_who for 100s"},
      {"ours, for longer",
       {"SET lock me PX 500000", kMyRecord},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "granted 7 me 0",
       "lock me for 500s, holders me 7_5_0_me_who for 500s"},
      {"another's",
       {kHeldByOther, kOthersRecord},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "busy 500s 0 '' 0",
       "lock other for 500s, holders other 7_5_0_other_who"},
      {"another program's",
       {kHeldByOther},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "busy 500s 0 '' 1",
       "lock other for 500s"},
      {"another program's, without an end",
       {"SET lock other"},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "busy -1 0 '' 1",
       "lock other"},
      {"another kind of key",
       {"HSET lock a b"},
       "acquire me x 100000 0 who e '' '' '' 0 100000",
       "busy -1 0 {us} 1",
       "lock a b, queue me {us} for 300s, waiting me {+100}_{+0}_x_0_who for 300s"},
      {"shared ones hold it",
       {"SET lock dlock:shared PX 500000", "HSET holders other 7_5_0_other_who", "ZADD ends {+500} other"},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "busy 500s 0 '' 0",
       "lock dlock:shared for 500s, holders other 7_5_0_other_who, ends other {+500}"},
      {"shared ones held it",
       {"SET lock dlock:shared PX 500000", "HSET holders other 7_5_0_other_who", "ZADD ends 5 other"},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "granted {us} me 0",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s"},
  });
}

TEST_CASE("redis scripts: acquire, queue") {
  check({
      {"enters",
       {kHeldByOther, kOthersRecord},
       "acquire me x 100000 0 who e '' '' '' 0 100000",
       "busy 500s 0 {us} 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me {us} for 300s, waiting me {+100}_{+0}_x_0_who for "
       "300s"},
      {"enters, and has to look by itself",
       {kHeldByOther, kOthersRecord},
       "acquire me x 100000 0 who ep '' '' '' 0 100000",
       "busy 500s 0 {us} 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me {us} for 300s, waiting me {+100}_{+0}_x_1_who for "
       "300s"},
      {"comes again with its arrival",
       {kHeldByOther, kOthersRecord, "ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who e '' '' 800 0 100000",
       "busy 500s 0 800 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me 800 b 900 for 300s, waiting b {+100}_0_x_0_who me "
       "{+100}_0_x_0_who for 300s"},
      {"behind one that is alive",
       {kHeldByOther, kOthersRecord, "ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who e '' '' '' 0 100000",
       "busy 500s 1 {us} 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue b 900 me {us} for 300s, waiting b {+100}_0_x_0_who "
       "me {+100}_{+0}_x_0_who for 300s"},
      {"behind one that is dead, and one without a record",
       {kHeldByOther, kOthersRecord, "ZADD queue 900 b 901 c", "HSET waiting b 5_0_x_0_who"},
       "acquire me x 100000 0 who e '' '' '' 0 100000",
       "busy 500s 0 {us} 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me {us} for 300s, waiting me {+100}_{+0}_x_0_who for "
       "300s"},
      {"free, and who waits is passed by",
       {"ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who '' '' '' '' 0 30000",
       "granted {us} me 0",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s, queue b 900, waiting b {+100}_0_x_0_who"},
      {"free and fair, one waits",
       {"ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who f '' '' '' 0 30000",
       "busy -2 1 '' 0",
       "queue b 900, waiting b {+100}_0_x_0_who"},
      {"free and fair, one waited",
       {"ZADD queue 900 b", "HSET waiting b 5_0_x_0_who"},
       "acquire me x 100000 0 who f '' '' '' 0 30000",
       "granted {us} me 0",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s"},
      {"free, fair, and our turn",
       {"ZADD queue 900 me 901 b", "HSET waiting me {+100}_0_x_0_who b {+100}_0_x_0_who"},
       "acquire me x 100000 0 who ef '' '' 900 0 30000",
       "granted {us} me 0",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s, queue b 901, waiting b {+100}_0_x_0_who"},
      {"only waits, free", {}, "acquire me x 100000 0 who ew '' '' '' 0 30000", "free", ""},
      {"only waits, another's",
       {kHeldByOther, kOthersRecord},
       "acquire me x 100000 0 who ew '' '' '' 0 100000",
       "busy 500s 0 {us} 0",
       "lock other for 500s, holders other 7_5_0_other_who, queue me {us} for 300s, waiting me {+100}_{+0}_w_0_who for "
       "300s"},
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
       "acquire me s 100000 0 who '' '' '' '' 0 30000",
       "granted {us} me 0",
       "lock dlock:shared for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s, ends me {+100} for 100s"},
      {"shared beside another", shared, "acquire me s 100000 0 who '' '' '' '' 0 30000", "granted {us} me 0",
       "lock dlock:shared for 100s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who for 100s, ends "
       "other {+0} me {+100} for 100s"},
      {"shared, ours: the answer was lost",
       {"SET lock dlock:shared PX 20000", kMyRecord, "ZADD ends {+10} me"},
       "acquire me s 100000 0 who '' '' '' '' 0 30000",
       "granted 7 me 0",
       "lock dlock:shared for 100s, holders me 7_5_0_me_who for 100s, ends me {+100} for 100s"},
      {"shared, exclusive one holds it",
       {kHeldByOther, kOthersRecord},
       "acquire me s 100000 0 who '' '' '' '' 0 30000",
       "busy 500s 0 '' 0",
       "lock other for 500s, holders other 7_5_0_other_who"},
      {"shared, held with permits", permits, "acquire me s 100000 0 who '' '' '' '' 0 30000",
       "conflict dlock:permits:2", "lock dlock:permits:2 for 500s, holders other 7_5_0_other_who, ends other {+500}"},
      {"shared, an exclusive one waits", with(shared, {"ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"}),
       "acquire me s 100000 0 who '' '' '' '' 0 30000", "busy 0s 1 '' 0",
       "lock dlock:shared for 0s, holders other 7_5_0_other_who, ends other {+0}, queue b 900, waiting b "
       "{+100}_0_x_0_who"},
      {"shared, shared ones wait", with(shared, {"ZADD queue 900 b", "HSET waiting b {+100}_0_s_1_who"}),
       "acquire me s 100000 0 who '' '' '' '' 0 30000", "granted {us} me 0",
       "lock dlock:shared for 100s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who for 100s, ends "
       "other {+0} me {+100} for 100s, queue b 900, waiting b {+100}_0_s_1_who"},
      {"shared, one waits that takes nothing", with(shared, {"ZADD queue 900 b", "HSET waiting b {+100}_0_w_1_who"}),
       "acquire me s 100000 0 who '' '' '' '' 0 30000", "granted {us} me 0",
       "lock dlock:shared for 100s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who for 100s, ends "
       "other {+0} me {+100} for 100s, queue b 900, waiting b {+100}_0_w_1_who"},
      {"permits, free",
       {},
       "acquire me p 100000 2 who '' '' '' '' 0 30000 ''",
       "granted {us} me 0 0",
       "lock dlock:permits:2 for 100s, fence {us}, holders me {us}_{+0}_0_me_who\x1f"
       "0 for 100s, ends me {+100} for 100s"},
      {"permits, one is left", permits, "acquire me p 100000 2 who '' '' '' '' 0 30000 ''", "granted {us} me 0 0",
       "lock dlock:permits:2 for 500s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who\x1f"
       "0 for 500s, ends "
       "me {+100} other {+500} for 500s"},
      {"permits, one is left and one waits", with(permits, {"ZADD queue 900 b", "HSET waiting b {+100}_0_p_1_who"}),
       "acquire me p 100000 2 who '' '' '' '' 0 30000 ''", "busy 500s 1 '' 0",
       "lock dlock:permits:2 for 500s, holders other 7_5_0_other_who, ends other {+500}, queue b 900, waiting b "
       "{+100}_0_p_1_who"},
      {"permits, none is left", with(permits, {"ZADD ends {+500} more"}),
       "acquire me p 100000 2 who '' '' '' '' 0 30000 ''", "busy 500s 0 '' 0",
       "lock dlock:permits:2 for 500s, holders other 7_5_0_other_who, ends more {+500} other {+500}"},
      {"permits, the lease of one is over", with(permits, {"ZADD ends 5 over", "HSET holders over 7_5_0_over_who"}),
       "acquire me p 100000 2 who '' '' '' '' 0 30000 ''", "granted {us} me 0 0",
       "lock dlock:permits:2 for 500s, fence {us}, holders other 7_5_0_other_who me {us}_{+0}_0_me_who\x1f"
       "0 for 500s, ends "
       "me {+100} other {+500} for 500s"},
      {"permits, another number of them", permits, "acquire me p 100000 3 who '' '' '' '' 0 30000 ''",
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
       "acquire me p 100000 3 h '' '' '' '' 0 30000 ''", "granted {us} me 0 1",
       "lock dlock:permits:3 for 500s, fence {us}, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0 b "
       "8_5_0_b_h\x1fp\x1fu\x1fr\x1f"
       "2 me {us}_{+0}_0_me_h\x1f"
       "1 for 500s, ends me {+100} a {+500} b {+500} for 500s"},
      {"the first of ours that nobody has", zero, "acquire me p 100000 3 h '' '' '' '' 0 30000 0,db,c",
       "granted {us} me 0 db",
       "lock dlock:permits:3 for 500s, fence {us}, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0 me {us}_{+0}_0_me_h\x1f"
       "db "
       "for 500s, ends me {+100} a {+500} for 500s"},
      {"a holder of an earlier dlock has none", with({"HSET holders b 8_5_0_b_h\x1fp\x1fu\x1fr", "ZADD ends {+500} b"}),
       "acquire me p 100000 3 h '' '' '' '' 0 30000 ''", "granted {us} me 0 1",
       "lock dlock:permits:3 for 500s, fence {us}, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0 b 8_5_0_b_h\x1fp\x1fu\x1fr me "
       "{us}_{+0}_0_me_h\x1f"
       "1 for 500s, ends me {+100} a {+500} b {+500} for 500s"},
      {"of one whose lease is over it is free",
       {"SET lock dlock:permits:2 PX 500000",
        "HSET holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
        "0",
        "ZADD ends 5 a",
        "HSET holders b 8_5_0_b_h\x1fp\x1fu\x1fr\x1f"
        "1",
        "ZADD ends {+500} b"},
       "acquire me p 100000 2 h '' '' '' '' 0 30000 ''",
       "granted {us} me 0 0",
       "lock dlock:permits:2 for 500s, fence {us}, holders b 8_5_0_b_h\x1fp\x1fu\x1fr\x1f"
       "1 me {us}_{+0}_0_me_h\x1f"
       "0 for "
       "500s, ends me {+100} b {+500} for 500s"},
      {"ours: the answer was lost", zero, "acquire a p 100000 3 h '' '' '' '' 0 30000 ''", "granted 7 a 0 0",
       "lock dlock:permits:3 for 500s, holders a 7_5_0_a_h\x1fp\x1fu\x1fr\x1f"
       "0 for 500s, ends a {+100} for 500s"},
      {"joins, with the slot of the outer hold", with({"PEXPIRE holders 500000"}),
       "acquire me p 100000 3 h '' a 7 '' 0 30000 ''", "granted 7 a 1 0",
       "lock dlock:permits:3 for 500s, holders a 7_5_0_a,me_h\x1fp\x1fu\x1fr\x1f"
       "0 for 500s, ends a {+500} for 500s"},
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

TEST_CASE("redis scripts: acquire inside of a hold") {
  check({
      {"joins",
       {"SET lock outer PX 20000", "HSET holders outer 7_5_0_outer_who"},
       "acquire me x 100000 0 who '' outer 7 '' 0 30000",
       "granted 7 outer 1",
       "lock outer for 100s, holders outer 7_5_0_outer,me_who for 100s"},
      {"is in already",
       {"SET lock outer PX 500000", "HSET holders outer 7_5_0_outer,me_who"},
       "acquire me x 100000 0 who '' outer 7 '' 0 30000",
       "granted 7 outer 1",
       "lock outer for 500s, holders outer 7_5_0_outer,me_who for 100s"},
      {"the outer hold has another token",
       {"SET lock outer PX 500000", "HSET holders outer 8_5_0_outer_who"},
       "acquire me x 100000 0 who '' outer 7 '' 0 30000",
       "busy 500s 0 '' 0",
       "lock outer for 500s, holders outer 8_5_0_outer_who"},
      {"the outer hold is over",
       {},
       "acquire me x 100000 0 who '' outer 7 '' 0 30000",
       "granted {us} me 0",
       "lock me for 100s, fence {us}, holders me {us}_{+0}_0_me_who for 100s"},
      {"shared inside of shared",
       {"SET lock dlock:shared PX 20000", "HSET holders outer 7_5_0_outer_who", "PEXPIRE holders 20000",
        "ZADD ends {+10} outer"},
       "acquire me s 100000 0 who '' outer 7 '' 0 30000",
       "granted 7 outer 1",
       "lock dlock:shared for 100s, holders outer 7_5_0_outer,me_who for 100s, ends outer {+100} for 100s"},
      {"exclusive inside of shared",
       {"SET lock dlock:shared PX 500000", "HSET holders outer 7_5_0_outer_who", "ZADD ends {+500} outer"},
       "acquire me x 100000 0 who '' outer 7 '' 0 30000",
       "self",
       "lock dlock:shared for 500s, holders outer 7_5_0_outer_who, ends outer {+500}"},
  });
}

TEST_CASE("redis scripts: renew") {
  check({
      {"ours",
       {kHeldByMe, kMyRecord},
       "renew me 100000 0",
       "renewed {us} 7",
       "lock me for 100s, holders me 7_5_0_me_who for 100s"},
      {"ours, with a lock-delay",
       {kHeldByMe, "HSET holders me 7_5_200000_me_who"},
       "renew me 100000 0",
       "renewed {us} 7",
       "lock me for 300s, holders me 7_5_200s_me_who for 300s"},
      {"ours, for longer",
       {"SET lock me PX 500000", kMyRecord},
       "renew me 100000 0",
       "renewed {us} 7",
       "lock me for 500s, holders me 7_5_0_me_who for 500s"},
      {"ours, for longer, exactly",
       {"SET lock me PX 500000", kMyRecord},
       "renew me 100000 1",
       "renewed {us} 7",
       "lock me for 100s, holders me 7_5_0_me_who for 100s"},
      {"ours, without a record", {kHeldByMe}, "renew me 100000 0", "renewed {us} 0", "lock me for 100s"},
      {"shared",
       {"SET lock dlock:shared PX 20000", kMyRecord, "ZADD ends {+10} me"},
       "renew me 100000 0",
       "renewed {us} 7",
       "lock dlock:shared for 100s, holders me 7_5_0_me_who for 100s, ends me {+100} for 100s"},
      {"shared, for longer, exactly",
       {"SET lock dlock:shared PX 500000", kMyRecord, "ZADD ends {+500} me"},
       "renew me 100000 1",
       "renewed {us} 7",
       "lock dlock:shared for 500s, holders me 7_5_0_me_who for 500s, ends me {+100} for 500s"},
      {"shared, and over",
       {"SET lock dlock:shared PX 500000", kMyRecord, "ZADD ends 5 me"},
       "renew me 100000 0",
       "lost dlock:shared",
       "lock dlock:shared for 500s, holders me 7_5_0_me_who, ends me 5"},
      {"free", {}, "renew me 100000 0", "lost ''", ""},
      {"another's",
       {kHeldByOther, kOthersRecord},
       "renew me 100000 0",
       "lost other",
       "lock other for 500s, holders other 7_5_0_other_who"},
      {"another kind of key", {"HSET lock a b"}, "renew me 100000 0", "lost hash", "lock a b"},
  });
}

TEST_CASE("redis scripts: release") {
  check({
      {"the last entry", {kHeldByMe, kMyRecord}, "release me me", "released 0", ""},
      {"one of two entries",
       {kHeldByMe, "HSET holders me 7_5_0_me,inner_who"},
       "release me inner",
       "released 1",
       "lock me for 0s, holders me 7_5_0_me_who"},
      {"all entries", {kHeldByMe, "HSET holders me 7_5_0_me,inner_who"}, "release me ''", "released 0", ""},
      {"an entry that is not in",
       {kHeldByMe, kMyRecord},
       "release me inner",
       "gone me",
       "lock me for 0s, holders me 7_5_0_me_who"},
      {"another's",
       {kHeldByOther, kOthersRecord},
       "release me me",
       "gone other",
       "lock other for 500s, holders other 7_5_0_other_who"},
      {"free", {}, "release me me", "gone ''", ""},
      {"another kind of key", {"HSET lock a b"}, "release me me", "gone hash", "lock a b"},
      {"a shared one of two",
       {"SET lock dlock:shared PX 500000", kMyRecord, kOthersRecord, "ZADD ends {+500} me {+500} other"},
       "release me me",
       "released 0",
       "lock dlock:shared for 500s, holders other 7_5_0_other_who, ends other {+500}"},
      {"the last shared one",
       {"SET lock dlock:shared PX 500000", kMyRecord, "ZADD ends {+500} me"},
       "release me me",
       "released 0",
       ""},
      {"a shared one whose lease is over",
       {"SET lock dlock:shared PX 500000", kMyRecord, "ZADD ends 5 me"},
       "release me me",
       "gone dlock:shared",
       "lock dlock:shared for 500s, holders me 7_5_0_me_who, ends me 5"},
      {"waiters that nobody hears leave, up to one that looks by itself",
       {kHeldByMe, kMyRecord, "ZADD queue 900 b 901 c 902 d",
        "HSET waiting b {+100}_0_x_0_who c {+100}_0_x_1_who d {+100}_0_x_0_who"},
       "release me me",
       "released 0",
       "queue c 901 d 902, waiting c {+100}_0_x_1_who d {+100}_0_x_0_who"},
      {"a waiter withdraws",
       {kHeldByOther, kOthersRecord, "ZADD queue 900 me 901 b", "HSET waiting me {+100}_0_x_0_who b {+100}_0_x_0_who"},
       "release me me",
       "gone other",
       "lock other for 500s, holders other 7_5_0_other_who, queue b 901, waiting b {+100}_0_x_0_who"},
      {"a waiter that was told withdraws, and the next one is told",
       {"ZADD queue 900 me 901 b", "HSET waiting me {+100}_0_x_0_who b {+100}_0_x_0_who"},
       "release me me",
       "gone ''",
       ""},
  });
}

TEST_CASE("redis scripts: force") {
  check({
      {"the holder that was shown", {kHeldByOther, kOthersRecord}, "force other 7", "freed", ""},
      {"another one by now",
       {kHeldByOther, kOthersRecord},
       "force me 7",
       "conflict",
       "lock other for 500s, holders other 7_5_0_other_who"},
      {"the same with another token",
       {kHeldByOther, kOthersRecord},
       "force other 6",
       "conflict",
       "lock other for 500s, holders other 7_5_0_other_who"},
      {"another program's", {kHeldByOther}, "force other 0", "freed", ""},
      {"with a lock-delay",
       {kHeldByOther, "HSET holders other 7_5_200000_other_who"},
       "force other 7",
       "freed",
       "lock dlock-delay for 200s"},
      {"all shared ones",
       {"SET lock dlock:shared PX 500000", "HSET holders b 7_5_0_b_who c 8_5_0_c_who", "ZADD ends {+500} b {+500} c"},
       "force b 7 c 8",
       "freed",
       ""},
      {"one of two shared ones",
       {"SET lock dlock:shared PX 500000", "HSET holders b 7_5_0_b_who c 8_5_0_c_who", "ZADD ends {+500} b {+500} c"},
       "force b 7",
       "conflict",
       "lock dlock:shared for 500s, holders b 7_5_0_b_who c 8_5_0_c_who, ends b {+500} c {+500}"},
      {"free, as was shown", {"ZADD queue 900 b"}, "force", "freed", "queue b 900"},
      {"free by now", {}, "force other 7", "conflict", ""},
      {"another kind of key", {"HSET lock a b"}, "force", "foreign hash", "lock a b"},
  });
}

TEST_CASE("redis scripts: look") {
  check({
      {"free", {}, "look", "{us} string '' -2 [] [] [] []", ""},
      {"held, and one waits",
       {kHeldByOther, kOthersRecord, "ZADD queue 900 b", "HSET waiting b {+100}_0_x_0_who"},
       "look",
       "{us} string other 500s [other 7_5_0_other_who] [] [b] [b {+100}_0_x_0_who]",
       "lock other for 500s, holders other 7_5_0_other_who, queue b 900, waiting b {+100}_0_x_0_who"},
      {"shared ones, one of them over",
       {"SET lock dlock:shared PX 500000", kMyRecord, "ZADD ends 5 me {+500} other"},
       "look",
       "{us} string dlock:shared 500s [me 7_5_0_me_who] [me 5 other {+500}] [] []",
       "lock dlock:shared for 500s, holders me 7_5_0_me_who, ends me 5 other {+500}"},
      {"another kind of key", {"HSET lock a b"}, "look", "{us} hash a -1 [] [] [] []", "lock a b"},
  });
}

TEST_CASE("redis scripts: fence and sweep") {
  check({
      {"the first token", {}, "fence 7", "passed", "fenced 7"},
      {"a higher token", {"SET fenced 9"}, "fence 10", "passed", "fenced 10"},
      {"the same token", {"SET fenced 10"}, "fence 10", "passed", "fenced 10"},
      {"a lower token", {"SET fenced 10"}, "fence 9", "lower 10", "fenced 10"},
      {"a lower token of the same length",
       {"SET fenced 9000000000000001"},
       "fence 9000000000000000",
       "lower 9000000000000001",
       "fenced 9000000000000001"},
      {"a counter of the day", {"SET fence {us}"}, "sweep 1", "0", "fence {us}"},
      {"an old counter", {"SET fence 7"}, "sweep 1", "1", ""},
      {"an old counter, only looked at", {"SET fence 7"}, "sweep 0", "1", "fence 7"},
      {"an old counter of a lock that is held", {kHeldByMe, "SET fence 7"}, "sweep 1", "0", "lock me for 0s, fence 7"},
      {"no counter", {}, "sweep 1", "0", ""},
  });
}

}  // namespace dlock::redis::redis_scripts_test
