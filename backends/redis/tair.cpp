// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/tair.h"

#include <algorithm>

#include "lib/keeper/plain_exclusive.h"
#include "lib/keeper/polled_lock.h"
#include "backends/redis/redlock_scripts.h"
#include "backends/redis/server_info.h"
#include "backends/redis/tair_key.h"
#include "lib/lock/lease.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kConnectTimeout = 5s;
constexpr Duration kRound = 2s;
constexpr Duration kPingTtl = 5s;

TairMode mode_of(const BackendUrl& url) {
  const auto mode = url.params.find("mode");
  return mode != url.params.end() && mode->second == "ex" ? TairMode::kEx : TairMode::kCas;
}

Error not_held(const LockName& name, TairSwap swap) {
  const char* now = swap == TairSwap::kGone ? ": the key is gone" : ": somebody else has it";
  return {ErrorCode::kLost, name.text() + " is not held by that owner any more" + now, ""};
}

/// A lock on one Tair server.
class TairStore final : public PolledStore {
 public:
  TairStore(std::vector<ConnectionSettings> server, TairMode mode, const LockSpec& spec, std::string store_name,
            const Runtime& runtime)
      : group_(std::move(server), runtime.clock, spec.wait.connect_timeout),
        key_(group_, spec.name, mode),
        spec_(spec),
        store_name_(std::move(store_name)),
        runtime_(runtime),
        owner_(spec.owner.text()),
        version_(random_start()) {}

  Attempt take(Control& control) override {
    const TimePoint now = runtime_.clock.now();
    if (!first_sent_) first_sent_ = now;
    const auto look = key_.take(owner_, version_, spec_.ttl, round(), &control);
    if (!look) return look.error();
    if (look->state != TairLook::State::kOurs) {
      first_sent_.reset();
      return Others{key_.state(*look, store_name_, runtime_.clock.wall()), look->remaining};
    }
    version_ = look->version;
    // After a request with an unknown outcome the key was ours already, with the lease of then.
    const TimePoint sent = look->fresh ? now : *first_sent_;
    return Taken{FencingToken(look->counter), sent};
  }

  std::optional<Taken> join(const HeldClaim& claim, Control& control) override {
    const auto look = key_.look(claim.owner.text(), round(), &control);
    if (!look || look->state != TairLook::State::kOurs) return std::nullopt;
    owner_ = claim.owner.text();
    version_ = look->version;
    joined_ = true;
    const TimePoint sent = runtime_.clock.now();
    if (std::holds_alternative<RenewalRenewed>(renew(&control, round()))) return Taken{claim.token, sent};
    owner_ = spec_.owner.text();
    version_ = random_start();
    joined_ = false;
    return std::nullopt;
  }

  Renewal renew(Control* control, TimePoint until) override {
    Duration ttl = spec_.ttl;
    if (joined_) {
      const auto look = key_.look(owner_, until, control);
      if (!look) return RenewalUnknown{look.error().message};
      ttl = std::max(ttl, look->remaining.value_or(ttl));
    }
    const TimePoint sent = runtime_.clock.now();
    const auto kept = key_.keep(owner_, version_, ttl, until, control);
    if (!kept) return RenewalUnknown{kept.error().message};
    if (*kept == TairSwap::kDone) return RenewalRenewed{lease_deadline(sent, spec_.ttl)};
    return RenewalLost{not_held(spec_.name, *kept).message};
  }

  Result<void> give_back(TimePoint until) override {
    const auto removed = key_.remove(owner_, version_, until);
    first_sent_.reset();
    if (!removed) return removed.error();
    return {};
  }

  Result<void> release(TimePoint until) override {
    const bool again = asked_back_;
    asked_back_ = true;
    const auto removed = key_.remove(owner_, version_, std::min(until, round()));
    if (!removed) return removed.error();
    if (*removed == TairSwap::kDone || again) return {};
    return not_held(spec_.name, *removed);
  }

  Result<void> leave(Duration ttl, TimePoint until) override {
    const auto kept = key_.keep(owner_, version_, ttl, until, nullptr);
    if (!kept) return kept.error();
    if (*kept != TairSwap::kDone) return not_held(spec_.name, *kept);
    return {};
  }

  Result<LockState> look(TimePoint until, Control* control) override {
    const auto look = key_.look(owner_, until, control);
    if (!look) return look.error();
    return key_.state(*look, store_name_, runtime_.clock.wall());
  }

 private:
  TimePoint round() const { return runtime_.clock.now() + std::min<Duration>(kRound, spec_.ttl / 3); }

  ServerGroup group_;
  TairKey key_;
  const LockSpec spec_;
  const std::string store_name_;
  const Runtime runtime_;
  std::string owner_;
  std::int64_t version_;
  std::optional<TimePoint> first_sent_;
  bool joined_ = false;
  bool asked_back_ = false;
};

class TairBackend final : public Backend {
 public:
  TairBackend(const BackendUrl& url, std::vector<ConnectionSettings> server, const Runtime& runtime)
      : store_(url.redacted()),
        mode_(mode_of(url)),
        runtime_(runtime),
        group_(std::move(server), runtime.clock, kConnectTimeout) {}

  const std::string& store() const override { return store_; }

  Result<std::unique_ptr<LockSession>> open(const LockSpec& /*spec*/) override {
    return Error{ErrorCode::kInternal, "locks of " + store_ + " are kept by a keeper program", ""};
  }

  Result<LockState> inspect(const LockName& name) override {
    TairKey key(group_, name, mode_);
    const auto look = key.look("", by(), nullptr);
    if (!look) return look.error();
    return key.state(*look, store_, runtime_.clock.wall());
  }

  Result<std::vector<LockState>> inspect_all() override {
    std::vector<LockState> held;
    std::string cursor = "0";
    do {
      auto replies = ask({"SCAN", cursor, "MATCH", "dlock:{*}:fence", "COUNT", "1000"});
      if (!replies) return replies.error();
      if (replies->elements.size() != 2) return reply_error(*replies);
      cursor = replies->elements[0].text;
      for (const Reply& counter : replies->elements[1].elements) {
        if (auto error = add_held(counter.text, held)) return *error;
      }
    } while (cursor != "0");
    std::sort(held.begin(), held.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    const auto same = [](const LockState& a, const LockState& b) { return a.name == b.name; };
    held.erase(std::unique(held.begin(), held.end(), same), held.end());
    return held;
  }

  Result<ForceReleased> force_release(const LockName& name, const LockState& shown) override {
    TairKey key(group_, name, mode_);
    const auto look = key.look("", by(), nullptr);
    if (!look) return look.error();
    if (look->state == TairLook::State::kFree) return ForceReleased{};
    if (look->state == TairLook::State::kOtherKind) {
      return Error{ErrorCode::kUnsupported, name.text() + " is another program's key",
                   "end that program's lock with its own means, or choose the other mode= of tair://"};
    }
    const bool same = shown.holders.size() == 1 && shown.holders.front().owner == look->holder;
    if (!same) return changed(name);
    const auto removed = key.remove(look->holder, look->version, by());
    if (!removed) return removed.error();
    if (*removed == TairSwap::kOthers) return changed(name);
    return *removed == TairSwap::kDone ? ForceReleased{shown.holders} : ForceReleased{};
  }

  Result<void> check(const LockName& name, FencingToken token) override {
    auto state = inspect(name);
    if (!state) return state.error();
    if (!state->holders.empty() && state->holders.front().token == token) return {};
    return Error{ErrorCode::kLost, "token " + token.text() + " does not belong to a holder of " + name.text(), ""};
  }

  Result<HeldLock> renew(const LockName& name, const Owner& owner, Duration ttl) override {
    TairKey key(group_, name, mode_);
    auto look = key.look(owner.text(), by(), nullptr);
    if (!look) return look.error();
    if (look->state != TairLook::State::kOurs) return not_held(name, swap_of(*look));
    const auto kept = key.keep(owner.text(), look->version, ttl, by(), nullptr);
    if (!kept) return kept.error();
    if (*kept != TairSwap::kDone) return not_held(name, *kept);
    return HeldLock{name, owner, FencingToken(look->counter), store_, false};
  }

  Result<void> release(const LockName& name, const Owner& owner) override {
    TairKey key(group_, name, mode_);
    const auto look = key.look(owner.text(), by(), nullptr);
    if (!look) return look.error();
    if (look->state != TairLook::State::kOurs) return not_held(name, swap_of(*look));
    const auto removed = key.remove(owner.text(), look->version, by());
    if (!removed) return removed.error();
    if (*removed != TairSwap::kDone) return not_held(name, *removed);
    return {};
  }

  Result<UniqueFd> fence(const LockName& /*resource*/, FencingToken /*token*/, const WaitPolicy& /*wait*/) override {
    return Error{ErrorCode::kUnsupported, store_ + " keeps no high-water marks of resources",
                 "use `dlock fence` with a local: or redis:// store where the resource is"};
  }

  Result<std::vector<Swept>> collect_garbage(bool /*dry_run*/) override { return std::vector<Swept>{}; }

  std::vector<Finding> diagnose() override {
    auto info = ask({"INFO"});
    if (!info || !info->is_text()) {
      const Error error = info ? reply_error(*info) : info.error();
      return {{Finding::Verdict::kFail, store_ + ": " + error.message, "start it, or see its log", error.code}};
    }
    const ServerInfo said(info->text);
    std::vector<Finding> findings = said.findings(group_.name(0));
    findings.insert(findings.begin(), {Finding::Verdict::kOk,
                                       group_.name(0) + ": version " + said.text("redis_version") + ", appendonly " +
                                           (said.text("aof_enabled") == "1" ? "yes" : "no"),
                                       "", ErrorCode::kMisconfigured});
    const std::string command = mode_ == TairMode::kEx ? "EXCAS" : "CAS";
    const auto probe = ask({command});
    const bool knows = probe && !probe->text.starts_with("ERR unknown command");
    findings.push_back({knows ? Finding::Verdict::kOk : Finding::Verdict::kFail,
                        group_.name(0) + (knows ? " knows " : " is no Tair: it does not know ") + command,
                        knows ? "" : "use redis:// for it", ErrorCode::kUnsupported});
    return findings;
  }

  Result<Duration> ping() override {
    const Owner owner = Owner::random();
    const auto name = LockName::parse("dlock:ping:" + owner.text());
    if (!name) return name.error();
    TairKey key(group_, *name, mode_);
    const TimePoint start = runtime_.clock.now();
    const auto taken = key.take(owner.text(), random_start(), kPingTtl, by(), nullptr);
    if (!taken) return taken.error();
    const auto removed = key.remove(owner.text(), taken->version, by());
    const Duration took = runtime_.clock.now() - start;
    (void)ask({"DEL", "dlock:{" + name->text() + "}:fence"});
    if (!removed) return removed.error();
    return took;
  }

 private:
  TimePoint by() const { return runtime_.clock.now() + kRound; }

  static TairSwap swap_of(const TairLook& look) {
    return look.state == TairLook::State::kFree ? TairSwap::kGone : TairSwap::kOthers;
  }

  static Error changed(const LockName& name) {
    return {ErrorCode::kConflict, name.text() + " is held by somebody else by now", "look at it again"};
  }

  Result<Reply> ask(const Command& command) {
    auto answers = group_.ask({{command}}, by(), nullptr, [](const auto&) { return false; });
    if (answers[0].has_replies()) return std::move(answers[0].replies[0]);
    if (answers[0].error) return *answers[0].error;
    return Error{ErrorCode::kUnavailable, group_.name(0) + ": no answer in time", ""};
  }

  std::optional<Error> add_held(std::string_view counter, std::vector<LockState>& held) {
    constexpr std::string_view kBefore = "dlock:{";
    constexpr std::string_view kAfter = "}:fence";
    if (!counter.starts_with(kBefore) || !counter.ends_with(kAfter)) return std::nullopt;
    const auto name = LockName::parse(counter.substr(kBefore.size(), counter.size() - kBefore.size() - kAfter.size()));
    if (!name) return std::nullopt;
    auto state = inspect(*name);
    if (!state) return state.error();
    if (!state->holders.empty()) held.push_back(std::move(*state));
    return std::nullopt;
  }

  const std::string store_;
  const TairMode mode_;
  const Runtime runtime_;
  ServerGroup group_;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_tair_backend(const BackendUrl& url, const Runtime& runtime) {
  auto server = group_settings(url);
  if (!server) return server.error();
  return std::unique_ptr<Backend>(std::make_unique<TairBackend>(url, std::move(*server), runtime));
}

Result<std::unique_ptr<KeptLock>> keep_tair(const BackendUrl& url, const LockSpec& spec, const Runtime& runtime) {
  if (auto fits = check_plain_exclusive(spec, "Tair"); !fits) return fits.error();
  auto server = group_settings(url);
  if (!server) return server.error();
  auto store = std::make_unique<TairStore>(std::move(*server), mode_of(url), spec, url.redacted(), runtime);
  return std::unique_ptr<KeptLock>(std::make_unique<PolledLock>(std::move(store), spec, url.redacted(), runtime));
}

}  // namespace dlock::redis
