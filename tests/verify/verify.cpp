// SPDX-License-Identifier: Apache-2.0
// Does a store keep what dlock promises, under faults? Workers take locks with the dlock of $PATH in the store of
// $DLOCK_BACKEND, under keys verify/..., and are killed and stopped. All that they do is one history, which is judged.
//   verify run [--duration D] [--workers N] [--ttl D] [--faults kill|stop|all|none] [--seed N] [--hook COMMAND]
//       0 if every promise was kept, 1 if one was broken. The seed repeats what is done when and what each worker
//       wants, not who gets it. COMMAND is a shell's, which makes the server fail: it is called after a quarter, a half
//       and three quarters of the time, with fault-1 and so on appended, and returns when the fault is over. Meanwhile,
//       and for a moment after it, runs may fail or take longer; two holders are never excused.
//   verify section FILE NAME DURATION [stubborn]
//       What runs under the locks, also those of the fault tests.
//   verify check FILE [--sections N] [--unfenced] [--ours]
//       0 if the history of a fault test is right; else says what is wrong: no act of one section after the next one's
//       BEGIN; tokens grow; N sections in all. A foreign client's TOKEN is "-"; with --ours only sections with a token
//       have to run alone. A section that was killed is judged by its last line.
//   verify gap FILE [--after N]
//       Prints the ms between the last act of the Nth section (1) and the next one's BEGIN.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string_view>
#include <tuple>

#include "lib/base/random.h"
#include "lib/base/text.h"
#include "lib/config/duration_text.h"
#include "tests/verify/judge.h"
#include "tests/verify/workers.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kWake = 2s;        ///< a waiter has a lock that was given back within this
constexpr Duration kLeastSlack = 1s;  ///< with so much more beside trouble, for a busy machine
constexpr int kBusy = 75;
constexpr int kUnsupported = 78;

/// Asks the store for one lock of each kind. Prints what it has not.
Abilities probe(const Workshop& workshop, Duration ttl) {
  Abilities can;
  bool exclusive = false;
  const std::tuple<bool*, const char*, Order> wanted[] = {
      {&exclusive, "exclusive locks", {.key = "x"}},
      {&can.fair, "first come, first served", {.key = "q", .fair = true}},
      {&can.shared, "shared holders", {.key = "q", .mode = Mode::kShared}},
      {&can.permits, "permits", {.key = "p", .mode = Mode::kPermits}},
  };
  for (const auto& [ability, what, order] : wanted) {
    auto words = run_words(order, ttl);
    words.insert(words.begin() + 1, "-n");
    words.insert(words.end(), {"--", "true"});
    const auto [status, said] = workshop.ask(std::move(words));
    *ability = status == 0;
    if (status != 0 && (status != kUnsupported || !exclusive))
      die(said.empty() ? "dlock ended with " + std::to_string(status) : said);
    if (status != 0) std::printf("  not promised here: %s (%s)\n", what, said.c_str());
  }
  return can;
}

/// Whether whoever held the keys has left them: a dead one has them until the end of its lease.
Judgement check_freed(const Workshop& workshop, Duration ttl) {
  Judgement judgement{.promise = "nothing is left over", .unit = "keys", .tried = 3};
  for (const std::string name : {"x", "q", "p"}) {
    const auto freed = workshop.ask({"wait", "-q", "--wait", ms_word(ttl + 10s), kKeyPrefix + name});
    if (freed.first == kBusy) judgement.breaches.push_back({kKeyPrefix + name + " is still held"});
  }
  return judgement;
}

std::vector<Judgement> judge(const VerifyHistory& history, Duration ttl, Duration late) {
  const char* const store = std::getenv("DLOCK_BACKEND");
  const bool in_session = store && std::string_view(store).starts_with("zk");
  const Bounds bounds{
      .lease = ttl, .wake = kWake, .late = 2 * late, .in_session = in_session, .slack = kLeastSlack + 2 * late};
  return {check_exclusion(history, bounds),
          check_tokens(history),
          check_order(history),
          check_permits(history, bounds),
          check_hand_over(history, bounds),
          check_recovery(history, bounds),
          check_ends(history, bounds)};
}

/// The first breach, and how to see it.
void print_breach(const Judgement& judgement, const std::string& file) {
  const Breach& first = judgement.breaches.front();
  std::printf("\nBROKEN %s: %s\n", judgement.promise.c_str(), first.what.c_str());
  std::string who = "hook";
  for (const std::string& name : first.who) who += '|' + name;
  std::printf("    sed -n %zu,%zup %s | grep -E ' (%s) '\n", first.from, first.to, file.c_str(), who.c_str());
}

/// Prints the verdict; the exit status.
int report(const std::vector<Judgement>& judgements, const Driven& driven, const std::string& file) {
  bool held = true;
  for (const Judgement& one : judgements) {
    const char* const answer = !one.breaches.empty() ? "BROKEN" : one.tried == 0 ? "not seen" : "held";
    std::printf("  %-43s %6zu %-15s %s\n", one.promise.c_str(), one.tried, one.unit.c_str(), answer);
    held = held && one.breaches.empty();
  }
  std::printf("faults:");
  for (const auto& [fault, count] : driven.done) std::printf(" %s %d", fault_name(fault).data(), count);
  std::printf("\n");
  for (const Judgement& one : judgements) {
    if (!one.breaches.empty()) print_breach(one, file);
  }
  std::printf("%s\n", held ? "held" : "broken");
  return held ? 0 : 1;
}

int run(const VerifyPlan& plan) {
  const Workshop workshop;
  std::printf("seed %llu, history %s\n", static_cast<unsigned long long>(plan.seed), workshop.history().c_str());
  const Abilities can = probe(workshop, plan.ttl);
  VerifyHistory history;
  const Driven driven = drive(plan, can, workshop, history);
  auto judgements = judge(history, plan.ttl, driven.late);
  judgements.push_back(check_freed(workshop, plan.ttl));
  return report(judgements, driven, workshop.history());
}

using Words = std::vector<std::string>;

/// Takes the option and its value out of `words`; `preset` if it is not there.
std::string take(Words& words, std::string_view name, std::string preset) {
  const auto found = std::ranges::find(words, name);
  if (found == words.end() || found + 1 == words.end()) return preset;
  std::string value = *(found + 1);
  words.erase(found, found + 2);
  return value;
}

std::uint64_t take_number(Words& words, std::string_view name, std::uint64_t preset) {
  return leading_number<std::uint64_t>(take(words, name, std::to_string(preset)));
}

Duration take_duration(Words& words, std::string_view name, std::string preset) {
  const auto length = parse_duration(take(words, name, std::move(preset)));
  return length ? *length : Duration(0);
}

int run(Words words) {
  VerifyPlan plan{.seed = take_number(words, "--seed", random_below(1'000'000'000)),
                  .duration = take_duration(words, "--duration", "1m"),
                  .ttl = take_duration(words, "--ttl", "3s"),
                  .workers = static_cast<int>(take_number(words, "--workers", 8)),
                  .hook = take(words, "--hook", "")};
  const auto faults = parse_faults(take(words, "--faults", "all"));
  if (!faults || !words.empty() || plan.duration < 1s || plan.ttl < 1s || plan.workers < 2) return 64;
  plan.faults = *faults;
  return run(plan);
}

int section_of(const Words& words) {
  const auto hold = words.size() >= 3 ? parse_duration(words[2]) : Result<Duration>(Error{});
  if (!hold) return 64;
  section(words[0].c_str(), words[1].c_str(), *hold, words.size() == 4);
  return 0;
}

// --- the histories of the fault tests ---

/// What dlock's sections exclude is told in front of each: all of them one lock, which, with `ours`, foreign ones
/// share.
VerifyHistory read_test(const std::string& path, bool ours) {
  VerifyHistory history;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto act = parse_act(line);
    if (act && act->what == Act::What::kBegin) {
      const bool foreign = ours && act->words.starts_with('-');
      std::string ask = act_line({act->at, act->who, Act::What::kAsk, foreign ? "k shared" : "k exclusive"});
      ask.pop_back();
      history.add_line(ask);
    }
    history.add_line(line);
  }
  return history;
}

int check(Words words) {
  const bool ours = std::erase(words, "--ours") > 0;
  const bool unfenced = std::erase(words, "--unfenced") > 0;
  const std::size_t want = take_number(words, "--sections", 0);
  if (words.size() != 1) return 64;
  const VerifyHistory history = read_test(words.front(), ours);
  const auto& sections = history.sections();
  std::vector<Breach> wrong = check_exclusion(history, {}).breaches;
  if (!unfenced) std::ranges::move(check_tokens(history).breaches, std::back_inserter(wrong));
  if (want == 0 ? sections.empty() : sections.size() != want) {
    wrong.push_back(
        {std::to_string(sections.size()) + " sections instead of " + std::to_string(std::max<std::size_t>(want, 1))});
  }
  if (history.torn() > 0) wrong.push_back({std::to_string(history.torn()) + " lines are of no history"});
  if (ours && std::ranges::none_of(sections, [](const Section& one) { return one.token.has_value(); })) {
    wrong.push_back({"none of them is ours"});
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(wrong.size(), 20); ++i) std::printf("%s\n", wrong[i].what.c_str());
  return wrong.empty() ? 0 : 1;
}

int gap(Words words) {
  const std::size_t after = take_number(words, "--after", 1);
  const VerifyHistory history = read_test(words.empty() ? "" : words.front(), false);
  const auto& sections = history.sections();
  if (sections.size() <= after || after == 0) {
    std::printf("there are no %zu sections\n", after + 1);
    return 1;
  }
  const Duration length = *sections[after].begun - sections[after - 1].last;
  std::printf("%lld\n", static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(length).count()));
  return 0;
}

}  // namespace
}  // namespace dlock

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  dlock::Words words{argv + std::min(argc, 2), argv + argc};
  if (what == "run") return dlock::run(std::move(words));
  if (what == "section") return dlock::section_of(words);
  if (what == "check") return dlock::check(std::move(words));
  return what == "gap" ? dlock::gap(std::move(words)) : 64;
}
