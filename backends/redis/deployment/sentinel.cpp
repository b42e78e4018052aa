// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "backends/redis/deployment/deployment.h"
#include "backends/redis/deployment/redirect.h"
#include "backends/redis/wire/connections.h"
#include "lib/config/secret.h"

namespace dlock::redis {
namespace {

using namespace std::chrono_literals;

constexpr Duration kPause = 100ms;                  ///< between two looks for the master
constexpr Duration kFirstSentinelPatience = 300ms;  ///< with sentinels that do not answer; doubled look by look
constexpr Duration kMostSentinelPatience = 2400ms;
constexpr Duration kTrust = 1s;         ///< how long the sentinels' word for an open connection is taken
constexpr Duration kTrustUnheard = 5s;  ///< the same when they could not be asked

/// How to talk to the sentinels: user and password are theirs, everything else is as for the servers.
struct SentinelLogin {
  std::string user;
  std::string password;
  std::string password_file;
};

class SentinelPoll {
 public:
  /// `counts`: they are asked for the master's replicas, too.
  SentinelPoll(Connections& sentinels, const std::vector<Endpoint>& addresses, std::string master, bool counts,
               Clock& clock)
      : sentinels_(sentinels), addresses_(addresses), master_(std::move(master)), counts_(counts), clock_(clock) {}

  /// The address that a majority names, as soon as it is one; the others are not waited for.
  Result<Endpoint> run(TimePoint until, Control* control) {
    ask_all(until);
    while (true) {
      if (auto master = elected(votes_, addresses_.size())) return *master;
      if (asked_.empty()) return not_elected(in_order(), addresses_.size(), master_);
      if (clock_.now() >= until) note_silent();
      if (control != nullptr && control->stop_requested()) {
        return Error{ErrorCode::kCancelled, "given up while the sentinels were asked for the master", ""};
      }
      if (!listen() && !asked_.empty()) wait(until, control);
    }
  }

  /// The most replicas that a sentinel knows of, among those that have answered.
  std::int64_t replicas() const { return replicas_; }

 private:
  void ask_all(TimePoint until) {
    for (const Endpoint& address : addresses_) {
      auto sentinel = sentinels_.to(address);
      if (!sentinel) {
        votes_.push_back({address, sentinel.error()});
        continue;
      }
      (*sentinel)->open(until);
      (*sentinel)->send({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_});
      if (counts_) (*sentinel)->send({"SENTINEL", "REPLICAS", master_});
      asked_.push_back(*sentinel);
    }
  }

  /// Takes what has come. True if that was an answer.
  bool listen() {
    const std::size_t before = asked_.size();
    std::erase_if(asked_, [&](Connection* sentinel) {
      const Endpoint& address = sentinel->settings().endpoint;
      auto advanced = sentinel->advance(clock_.now());
      if (sentinel->outstanding() == 0) {
        if (auto reply = sentinel->next_reply()) {
          votes_.push_back({address, parse_master_address(*reply, address)});
          if (auto list = sentinel->next_reply()) replicas_ = std::max(replicas_, std::ssize(list->elements));
          return true;
        }
      }
      if (advanced) return false;
      votes_.push_back({address, of_sentinel(std::move(advanced).error())});
      return true;
    });
    return asked_.size() != before;
  }

  /// The advice for a server's password does not hold for a sentinel's.
  static Error of_sentinel(Error error) {
    if (error.code == ErrorCode::kDenied) {
      error.next = "the sentinels have a user and a password of their own: sentinel-user, sentinel-password-file";
    }
    return error;
  }

  void note_silent() {
    for (const Connection* sentinel : asked_) {
      const Endpoint& address = sentinel->settings().endpoint;
      votes_.push_back({address, Error{ErrorCode::kUnavailable, address.text() + " did not answer in time", ""}});
    }
    asked_.clear();
  }

  /// The votes as the URL names the sentinels, not as they came in.
  std::vector<SentinelVote> in_order() const {
    std::vector<SentinelVote> sorted;
    for (const Endpoint& address : addresses_) {
      std::copy_if(votes_.begin(), votes_.end(), std::back_inserter(sorted),
                   [&](const SentinelVote& vote) { return vote.sentinel == address; });
    }
    return sorted;
  }

  void wait(TimePoint until, Control* control) {
    std::vector<pollfd> fds;
    std::optional<TimePoint> wake = until;
    for (const Connection* sentinel : asked_) {
      sentinel->add_interest(fds);
      wake = earlier(wake, sentinel->wake_at());
    }
    if (control != nullptr) control->add_interest(fds);
    clock_.wait(fds, wake);
  }

  Connections& sentinels_;
  const std::vector<Endpoint>& addresses_;
  std::string master_;
  bool counts_;
  Clock& clock_;
  std::int64_t replicas_ = 0;
  std::vector<Connection*> asked_;
  std::vector<SentinelVote> votes_;
};

/// The master that a majority of the sentinels names, verified on every new connection to it. An open connection is
/// used until it ends, until its server says that it is the master no more, or until a majority names another one: a
/// server that lives on after a failover takes writes, which will be lost, for some 10 s before it is made a replica.
/// While the sentinels cannot be asked, an open connection is good enough.
class SentinelDeployment final : public Deployment {
 public:
  SentinelDeployment(BackendUrl url, std::string master, SentinelLogin login, Clock& clock, Duration connect_timeout,
                     Greet greet)
      : addresses_(endpoints(url)),
        master_name_(std::move(master)),
        counts_(redis_replicas(url).all),
        clock_(clock),
        connect_timeout_(connect_timeout),
        servers_([url, greet](const Endpoint& endpoint) { return connection_settings(url, endpoint, greet); }),
        sentinels_([url, login = std::move(login)](const Endpoint& endpoint) {
          auto settings = connection_settings(url, endpoint, Greet::kAlong);  // they are only asked
          if (settings) {
            settings->user = login.user;
            settings->password = login.password;
            settings->password_file = login.password_file;
            settings->database = 0;
          }
          return settings;
        }) {}

  Result<std::vector<Reply>> call(const std::string& /*key*/, const std::vector<Command>& commands, TimePoint until,
                                  Control* control) override {
    std::string trouble;
    while (true) {
      refused_ = true;
      TRY(connect(until, control, trouble));
      refused_ = false;
      auto replies = ask(*master_, commands, clock_, until, control);
      if (!replies) {
        close();
        return is_passing(replies.error()) ? outcome_unknown(std::move(replies).error()) : replies.error();
      }
      const PipelineOutcome outcome = judge(commands, *replies);
      asked_at_ = master_->asked_at();
      if (outcome.kind == PipelineOutcome::Kind::kAnswered) return replies;
      trouble = master_->settings().endpoint.text() + " says " + words_of((*replies)[outcome.at]);
      if (outcome.refusal != Refusal::kLater) close();
      if (outcome.kind == PipelineOutcome::Kind::kPartly) {
        return outcome_unknown({ErrorCode::kUnavailable, "the master changed in between: " + trouble, ""});
      }
      refused_ = true;
      TRY(rest(until, control, trouble));
    }
  }

  Connection* current(const std::string& /*key*/) override {
    return master_ != nullptr && !master_->is_closed() ? master_ : nullptr;
  }

  Result<std::vector<Connection*>> all_servers(TimePoint until) override {
    std::string trouble;
    TRY(connect(until, nullptr, trouble));
    return std::vector<Connection*>{master_};
  }

 private:
  void close() {
    servers_.close_all();
    master_ = nullptr;
  }

  TimePoint connect_by(TimePoint until) const { return std::min(until, clock_.now() + connect_timeout_); }

  /// Afterwards master_ is a living connection to a verified master.
  Result<void> connect(TimePoint until, Control* control, std::string& trouble) {
    if (master_ != nullptr && !master_->is_closed()) {
      // Has it ended while nothing was asked?
      if (master_->advance(clock_.now())) {
        TRY_ASSIGN(auto confirmed, confirm(until, control));
        if (confirmed) return {};
      }
      close();
    }
    Duration patience = kFirstSentinelPatience;
    while (true) {
      const TimePoint asked_by = std::min(until, clock_.now() + patience);  // who has failed sooner was not silent
      auto found = discover(asked_by, until, control);
      if (found) return found;
      close();
      if (!is_passing(found.error()) || (!insists_ && clock_.now() < asked_by)) return found.error();
      trouble = found.error().message;
      patience = std::min(2 * patience, kMostSentinelPatience);
      TRY(rest(until, control, trouble, found.error().next));
    }
  }

  /// Asks the sentinels until `answer_by` and the server that they name until `until`.
  Result<void> discover(TimePoint answer_by, TimePoint until, Control* control) {
    TRY_ASSIGN(auto address, poll(answer_by, control));
    TRY_ASSIGN(auto server, servers_.to(address));
    const TimePoint limit = connect_by(until);
    auto said = exchange(*server, {{"ROLE"}, {"PING"}}, clock_, limit, limit, control);
    if (!said) return named_by_sentinels(std::move(said).error());
    if (auto fit = check_master((*said)[0], (*said)[1], address); !fit) {
      return named_by_sentinels(fit.error());
    }
    master_ = server;
    trusted_until_ = clock_.now() + kTrust;
    return {};
  }

  Result<Endpoint> poll(TimePoint answer_by, Control* control) {
    SentinelPoll sentinels(sentinels_, addresses_, master_name_, counts_, clock_);
    auto address = sentinels.run(answer_by, control);
    if (address) known_replicas_ = sentinels.replicas();
    sentinels_.close_all();
    return address;
  }

  /// Whether the open connection may go on being used; false once a majority names another server. Cancelled.
  Result<bool> confirm(TimePoint until, Control* control) {
    const TimePoint now = clock_.now();
    if (now < trusted_until_) return true;
    const Duration left = std::max(until - now, Duration::zero());
    auto address = poll(now + std::min(kFirstSentinelPatience, left / 4), control);
    if (address) {
      trusted_until_ = clock_.now() + kTrust;
      return *address == master_->settings().endpoint;
    }
    if (address.error().code == ErrorCode::kCancelled) return address.error();
    trusted_until_ = clock_.now() + kTrustUnheard;
    return true;
  }

  Error named_by_sentinels(Error error) const {
    if (is_passing(error)) error.message += " (the sentinels name it as master of '" + master_name_ + "')";
    return error;
  }

  /// Waits a little; past `until`, what is wrong is the error.
  Result<void> rest(TimePoint until, Control* control, const std::string& trouble, std::string next = {}) {
    if (clock_.now() + kPause >= until) {
      return Error{ErrorCode::kUnavailable, "no master to ask: " + trouble, std::move(next)};
    }
    return pause(clock_, clock_.now() + kPause, control);
  }

  std::vector<Endpoint> addresses_;  ///< of the sentinels
  std::string master_name_;
  bool counts_;  ///< the replicas of the master
  Clock& clock_;
  Duration connect_timeout_;
  Connections servers_;
  Connections sentinels_;
  Connection* master_ = nullptr;
  TimePoint trusted_until_;  ///< master_ needs no word of the sentinels before
};

Result<SentinelLogin> sentinel_login(const BackendUrl& url) {
  SentinelLogin login;
  login.user = url.param("sentinel-user");
  const std::string file = url.param("sentinel-password-file");
  if (!file.empty()) {
    TRY_ASSIGN(auto password, read_password_file(file));
    login.password = std::move(password.text);
    login.password_file = file;
  } else if (!login.user.empty()) {
    return Error{ErrorCode::kMisconfigured, "sentinel-user=" + login.user + " has no password",
                 "add sentinel-password-file=/path/to/file"};
  }
  return login;
}

}  // namespace

Result<std::unique_ptr<Deployment>> sentinel_deployment(const BackendUrl& url, Clock& clock, Duration connect_timeout,
                                                        Greet greet) {
  // "/MASTER[/db]", as the URL's parser has checked.
  const std::size_t slash = std::min(url.path.find('/', 1), url.path.size());
  std::string master = url.path.empty() ? std::string() : url.path.substr(1, slash - 1);
  if (master.empty() || url.hosts.empty()) {
    return Error{ErrorCode::kMisconfigured, "a " + url.scheme + " URL names its sentinels and the master's name",
                 "write " + url.scheme + "://sentinel1,sentinel2,sentinel3/MASTER[/db]"};
  }
  TRY_ASSIGN(auto login, sentinel_login(url));
  // Faults of the settings show before anything is asked.
  TRY(connection_settings(url, endpoints(url).front()));
  return std::unique_ptr<Deployment>(
      std::make_unique<SentinelDeployment>(url, std::move(master), std::move(login), clock, connect_timeout, greet));
}

}  // namespace dlock::redis
