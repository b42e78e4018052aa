// SPDX-License-Identifier: Apache-2.0
#include "cmd/verify/verify.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <tuple>

#include "cmd/show/exit_status.h"
#include "cmd/verify/driver.h"
#include "cmd/verify/proxy.h"
#include "cmd/verify/report.h"
#include "cmd/verify/sandbox.h"
#include "cmd/verify/stocktaking.h"
#include "lib/base/descriptor_io.h"
#include "lib/base/random.h"
#include "lib/base/system_error.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

/// A waiter has a lock that was given back to it within this; beside trouble, with so much more for a busy machine.
constexpr Duration kWake = 2s;
constexpr Duration kLeastSlack = 1s;

ErrorCode code_of(int status) {
  for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kDenied, ErrorCode::kMisconfigured}) {
    if (exit_status(code) == status) return code;
  }
  return ErrorCode::kSystem;
}

/// Only one verify is at work in a store: a lease that ends with this process says so. Stores that have no such leases
/// go without.
class OnlyOne {
 public:
  OnlyOne(const Sandbox& sandbox, Duration ttl) : sandbox_(sandbox), ttl_(ttl) {}
  ~OnlyOne() {
    if (owner_.empty()) return;
    (void)sandbox_.ask_store({"release", "--owner", owner_, "--if-held", kKey});
  }
  OnlyOne(const OnlyOne&) = delete;
  OnlyOne& operator=(const OnlyOne&) = delete;

  Result<void> begin() {
    auto answer = sandbox_.ask_store({"acquire", "-n", "--log-format", "json", "--ttl", ms_word(ttl_), "--watch-pid",
                                      std::to_string(getpid()), kKey});
    if (!answer) return answer.error();
    if (answer->status == 0) owner_ = answer->out.substr(0, answer->out.find(' '));
    if (answer->status != exit_status(ErrorCode::kBusy)) return {};
    return Error{ErrorCode::kBusy, "another dlock verify is running in this store: " + last_message(answer->said),
                 "wait until it is done"};
  }

 private:
  static constexpr char kKey[] = "dlock.verify/one";
  const Sandbox& sandbox_;
  Duration ttl_;
  std::string owner_;
};

/// A run that tries once, and does nothing.
std::vector<std::string> try_words(const Order& order, const std::string& url, Duration ttl, const Sandbox& sandbox) {
  Order once = order;
  once.ttl = ttl;
  auto words = run_words(once, url);
  words.insert(words.begin() + 1, "-n");
  words.insert(words.end(), {"--", sandbox.program(), "--version"});
  return words;
}

/// Asks the store for one lock of each kind.
class Probe {
 public:
  Probe(const Sandbox& sandbox, Duration ttl, VerifyReport& report) : sandbox_(sandbox), ttl_(ttl), report_(report) {}

  Result<Abilities> run() {
    if (auto exclusive = can({.key = "x"}, ""); !exclusive) return exclusive.error();
    const std::tuple<bool Abilities::*, const char*, Order> wanted[] = {
        {&Abilities::fair, "first come, first served", {.key = "q", .fair = true}},
        {&Abilities::shared, "shared holders", {.key = "q", .mode = Mode::kShared}},
        {&Abilities::permits, "permits", {.key = "p", .mode = Mode::kPermits}},
        {&Abilities::at_least, "--at-least", {.key = "a", .kept = 10ms}},
        {&Abilities::once, "--once", {.key = "o", .kept = 1s, .slot = std::to_string(kVerifySlots)}},
        {&Abilities::supersede, "--replace, --newest", {.key = "w", .supersedes = Supersedes::kReplace}},
    };
    Abilities abilities{.revoke = can_be_asked()};
    for (const auto& [ability, what, order] : wanted) {
      const auto has = can(order, what);
      if (!has) return has.error();
      abilities.*ability = *has;
    }
    const auto made = make_stock(sandbox_);
    abilities.stock = static_cast<bool>(made);
    if (!made) report_.not_promised.push_back("a stock (" + made.error().message + ")");
    return abilities;
  }

 private:
  Result<bool> can(const Order& order, const std::string& what) {
    auto answer = sandbox_.ask(try_words(order, sandbox_.url().redacted(), ttl_, sandbox_));
    if (!answer) return answer.error();
    if (answer->status == 0) return true;
    const std::string said = last_message(answer->said);
    if (answer->status == exit_status(ErrorCode::kUnsupported) && !what.empty()) {
      report_.not_promised.push_back(what + " (" + said + ")");
      return false;
    }
    if (answer->status == exit_status(ErrorCode::kBusy)) {
      return Error{ErrorCode::kBusy, "a dlock verify that was killed still holds its locks: " + said,
                   "wait until its leases have ended"};
    }
    return Error{code_of(answer->status), said, "see: dlock doctor"};
  }

  /// A run that revokes its own lock: it ends with the loss, or with the answer of the revocation.
  bool can_be_asked() {
    auto words = run_words({.key = "x", .ttl = ttl_}, sandbox_.url().redacted());
    words.insert(words.end(), {"--", sandbox_.program(), "revoke", "--wait", "10s", "--backend",
                               sandbox_.url().redacted(), words.back()});
    const auto answer = sandbox_.ask(words);
    if (answer && (answer->status == 0 || answer->status == exit_status(ErrorCode::kLost))) return true;
    report_.not_promised.push_back("revoke (" + (answer ? last_message(answer->said) : answer.error().message) + ")");
    return false;
  }

  const Sandbox& sandbox_;
  Duration ttl_;
  VerifyReport& report_;
};

void judge(const VerifyHistory& history, const VerifyPlan& plan, const Driven& driven, VerifyReport& report) {
  const Bounds bounds{.lease = plan.ttl,
                      .wake = kWake,
                      .late = 2 * driven.late,
                      .slack = kLeastSlack + 2 * driven.late,
                      .permits = kVerifyPermits};
  report.judgements = {check_exclusion(history, bounds), check_tokens(history), check_hand_over(history, bounds),
                       check_recovery(history, bounds), check_ends(history, bounds)};
  if (plan.can.fair) report.judgements.push_back(check_order(history));
  if (plan.can.shared) report.judgements.push_back(check_sharing(history, bounds));
  if (plan.can.permits) report.judgements.push_back(check_permits(history, bounds));
  if (plan.can.at_least) report.judgements.push_back(check_kept(history));
  if (plan.can.once) report.judgements.push_back(check_slots(history, bounds));
  if (plan.can.supersede) report.judgements.push_back(check_succession(history, bounds));
  report.gaps = measure_gaps(history, bounds);
  report.faults = driven.done;
  report.missed = driven.missed;
  for (const std::string& failed : driven.hooks_failed) report.not_tried.push_back(failed);
  report.interrupted = driven.interrupted != 0;
  report.torn = history.torn();
}

/// Leaves out of `faults` what cannot be done here, and says so.
template <typename Which>
void leave_out(std::vector<Fault>& faults, Which which, const std::string& why, VerifyReport& report) {
  std::string names;
  for (const Fault fault : faults) {
    if (which(fault)) names.append(names.empty() ? "" : ", ").append(fault_name(fault));
  }
  if (!names.empty()) report.not_tried.push_back(names + ": " + why);
  std::erase_if(faults, which);
}

bool needs_keeper(Fault fault) {
  return fault == Fault::kKillKeeper || fault == Fault::kKillBoth || fault == Fault::kStopKeeper ||
         fault == Fault::kStopAll;
}

/// The proxy, if one is wanted and possible; else its faults are left out.
Result<std::optional<Proxy>> start_proxy(const Sandbox& sandbox, VerifyPlan& plan, std::vector<Fault>& faults,
                                         VerifyReport& report) {
  if (std::none_of(faults.begin(), faults.end(), is_of_network)) return std::optional<Proxy>();
  const auto servers = servers_to_proxy(sandbox);
  if (!servers) {
    leave_out(faults, is_of_network, servers.error().message, report);
    return std::optional<Proxy>();
  }
  auto proxy = Proxy::start(*servers, framing_of(sandbox.url()));
  if (!proxy) return proxy.error();
  const std::string through = through_proxy(sandbox.url(), *servers, proxy->ports()).redacted();
  const auto answer = sandbox.ask(try_words({.key = "x"}, through, plan.ttl, sandbox));
  if (!answer) return answer.error();
  if (answer->status != 0) {
    leave_out(faults, is_of_network, "not through a proxy: " + last_message(answer->said), report);
    return std::optional<Proxy>();
  }
  plan.proxied = through;
  return std::optional(std::move(*proxy));
}

/// What was in a file before goes; a pipe or /dev/null cannot be cut.
Result<void> draw(int fd, const std::string& name, const std::string& picture) {
  struct stat file = {};
  const bool cut = fstat(fd, &file) == 0 && (!S_ISREG(file.st_mode) || ftruncate(fd, 0) == 0);
  if (cut && write_all(fd, picture)) return {};
  return system_error("cannot write " + name, errno);
}

int run_verify(const Options& options, const Sandbox& sandbox, Guard& guard, std::vector<Fault> faults,
               const Runtime& runtime, ProcessSignals& signals, const UniqueFd& picture, VerifyReport& report) {
  VerifyPlan plan{.seed = report.seed,
                  .duration = options.verify.duration,
                  .ttl = options.ttl,
                  .workers = options.verify.workers,
                  .direct = sandbox.url().redacted(),
                  .hook = options.verify.hook};
  OnlyOne only_one(sandbox, options.ttl);
  if (auto begun = only_one.begin(); !begun) return fail(runtime.log, begun.error());
  guard.claim();
  auto can = Probe(sandbox, options.ttl, report).run();
  if (!can) return fail(runtime.log, can.error());
  plan.can = *can;
  if (!plan.can.revoke) std::erase(faults, Fault::kRevoke);
  if (sandbox.url().is_local()) leave_out(faults, needs_keeper, "there are no keepers", report);
  auto proxy = start_proxy(sandbox, plan, faults, report);
  if (!proxy) return fail(runtime.log, proxy.error());
  plan.faults = plan_faults(
      {.seed = plan.seed, .duration = plan.duration, .ttl = plan.ttl, .faults = faults, .hook = !plan.hook.empty()});
  const TimePoint start = runtime.clock.now();
  TerminalLine line(runtime.log.fd());
  const bool shows =
      !options.log.quiet && options.log.format == Log::Format::kText && TerminalLine::fits(runtime.log.fd());
  const Driven driven =
      drive(plan, sandbox, *proxy ? &**proxy : nullptr, runtime.clock, signals, shows ? &line : nullptr);
  report.took = runtime.clock.now() - start;
  // From here on everything waits for the store. A signal ends us, and the guard does the rest.
  sigprocmask(SIG_SETMASK, &signals.inherited().mask, nullptr);
  if (driven.failure) return fail(runtime.log, *driven.failure);
  VerifyHistory history;
  HistoryReader(sandbox.history()).read_into(history);
  judge(history, plan, driven, report);
  if (plan.can.stock) report.judgements.push_back(take_stock(history, sandbox, plan.ttl, runtime.clock));
  int status = driven.interrupted != 0 ? 128 + driven.interrupted : 0;
  if (picture.valid()) {
    const auto drawn = draw(picture.get(), options.verify.svg, timeline_svg(picture_of(history, report)));
    if (!drawn) status = fail(runtime.log, drawn.error());
  }
  return report.held() ? status : 1;
}

}  // namespace

int verify_command(const Options& options, const Runtime& runtime, Output& out) {
  const BackendUrl& url = options.backends.front();
  const auto faults = parse_faults(options.verify.faults);
  if (!faults) return fail(runtime.log, faults.error());
  UniqueFd picture;
  if (const std::string& file = options.verify.svg; !file.empty()) {
    picture = UniqueFd(open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    if (!picture.valid()) return fail(runtime.log, system_error("cannot write " + file, errno));
  }
  auto signals = ProcessSignals::open();
  if (!signals) return fail(runtime.log, signals.error());
  auto sandbox = Sandbox::make(url);
  if (!sandbox) return fail(runtime.log, sandbox.error());
  auto guard = Guard::start(*sandbox, options.ttl);
  if (!guard) {
    sandbox->remove_directory();
    return fail(runtime.log, guard.error());
  }
  VerifyReport report{.store = url.redacted(),
                      .seed = options.verify.seed.value_or(random_below(1'000'000'000)),
                      .ttl = options.ttl,
                      .workers = options.verify.workers};
  int status = run_verify(options, *sandbox, *guard, *faults, runtime, *signals, picture, report);
  sigprocmask(SIG_SETMASK, &signals->inherited().mask, nullptr);
  const std::string left = clean_up(*sandbox, options.ttl, guard->claimed());
  guard->dismiss();
  if (report.judgements.empty()) return status;
  if (!left.empty()) {
    report.judgements.push_back({.promise = "nothing is left over",
                                 .name = "clean",
                                 .unit = "stores",
                                 .tried = 1,
                                 .breaches = {{.what = "still there: " + left}}});
    status = 1;
  }
  return print(out, runtime.log, options.json ? verify_json(report) : verify_text(report, out.look()), status);
}

}  // namespace dlock
