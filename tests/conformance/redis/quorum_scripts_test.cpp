// SPDX-License-Identifier: Apache-2.0
// How a holder of RedLock asks a server for its vote again, and how somebody else frees its lock, state by state, on a
// real Redis.
#include "backends/redis/quorum/questions.h"
#include "tests/conformance/redis/script_table.h"

namespace dlock::redis::redlock_rows {
namespace {

using namespace std::chrono_literals;

/// Keys are called by what they are: lock, fence, holders, forced. The scripts are about the
/// lock that "me" holds under token 7, with the entry e1.
class Table final : public ScriptTable {
 public:
  using ScriptTable::ScriptTable;

 private:
  Keys keys_of(const LockName& name) override {
    const auto names = native_names(name);
    REQUIRE(names);
    names_ = *names;
    return {{"lock", names_.key}, {"fence", names_.fence}, {"holders", names_.holders}, {"forced", names_.forced}};
  }

  Command command_of(const std::vector<std::string>& script) override {
    if (script[0] == "free") return release_command({names_, QuorumKind::kString, "me", "", "who", {}}, {}, true);
    return retake_command({names_, QuorumKind::kString, "me", "e1", "who", 100s, false}, FencingToken(7));
  }

  NativeNames names_;
};

}  // namespace

TEST_CASE("redlock scripts: a vote is asked for again") {
  check_scripts<Table>({
      {"the server has lost it",
       {},
       "retake",
       "1 {us} 100s me 7 '' -1 7_{+0}_0_e1_who",
       "lock me for 100s, fence 7, holders me 7_{+0}_0_e1_who for 100s"},
      {"another has it",
       {"SET lock other PX 500000"},
       "retake",
       "-1 {us} 500s other 0 '' -1 ''",
       "lock other for 500s"},
      {"it was freed by force",
       {"HSET forced me root@host", "PEXPIRE forced 500000"},
       "retake",
       "0 {us} -2 '' 0 '' -1 ''",
       "forced me root@host for 500s"},
      {"another's was freed by force",
       {"HSET forced other root@host", "PEXPIRE forced 500000"},
       "retake",
       "1 {us} 100s me 7 '' -1 7_{+0}_0_e1_who",
       "lock me for 100s, fence 7, holders me 7_{+0}_0_e1_who for 100s, forced other root@host for 500s"},
      {"the mark of somebody who was not there any more",
       {"SET lock me PX 20000", "HSET holders me 7_5_0_e1_who", "HSET forced me ''"},
       "retake",
       "1 {us} 100s me 7 '' -1 7_5_0_e1_who",
       "lock me for 100s, fence 7, holders me 7_5_0_e1_who for 100s, forced me ''"},
  });
}

TEST_CASE("redlock scripts: somebody frees a lock and leaves a mark for its holder") {
  check_scripts<Table>({
      {"its holder has the vote",
       {"SET lock me PX 20000", "HSET holders me 7_5_0_e1_who"},
       "free",
       "1 {us} -2 me 0 '' -1 7_5_0_e1_who",
       "forced me who for 3600s"},
      {"its holder has the vote of others only", {}, "free", "0 {us} -2 '' 0 '' -1 ''", "forced me who for 3600s"},
      {"another has the lock",
       {"SET lock other PX 500000"},
       "free",
       "-1 {us} 500s other 0 '' -1 ''",
       "lock other for 500s, forced me who for 3600s"},
  });
}

}  // namespace dlock::redis::redlock_rows
