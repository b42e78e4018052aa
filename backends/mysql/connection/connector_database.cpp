// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/connection/database.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <mutex>
#include <utility>

#include "backends/mysql/connection/connector_session.h"
#include "lib/base/clock.h"
#include "lib/base/signals_blocked.h"
#include "lib/base/unique_fd.h"

namespace dlock::mysql {
namespace {

constexpr std::size_t kStack = 512UL * 1024;  ///< touched only as far as it is used; a TLS handshake needs 40 KiB
constexpr int kGoodbye = 100;                 ///< ms

/// The next statement is to be sent.
bool goes_on(const AnswerOrFailure& outcome) {
  const auto* answer = std::get_if<Answer>(&outcome);
  return answer && !answer->rows.empty() && !answer->rows[0].empty() && answer->rows[0][0] == "1";
}

bool ends_connection(const AnswerOrFailure& outcome) {
  const auto* failure = std::get_if<Failure>(&outcome);
  return failure && failure->cut_off;
}

WireGuard::Trust trust_in(const DatabaseSettings& settings) {
  if (settings.tls) return WireGuard::Trust::kCertificate;
  const bool known = !settings.endpoint.socket.empty() || settings.password.empty();
  return known ? WireGuard::Trust::kOther : WireGuard::Trust::kNone;
}

/// State shared by the owner of a connection and its thread; lives as long as the later of the two.
class Exchange {
 public:
  explicit Exchange(const DatabaseSettings& settings) : settings_(settings), guard_(trust_in(settings)) {}

  // --- the owner's side ---

  void ask(std::string statement, std::string next) {
    {
      const std::lock_guard hold(mutex_);
      statement_ = std::move(statement);
      next_ = std::move(next);
      went_on_ = false;
    }
    eventfd_write(asked_.get(), 1);
  }

  /// Nothing more is sent for what was asked.
  void stop() {
    const std::lock_guard hold(mutex_);
    next_.clear();
  }

  bool went_on() const {
    const std::lock_guard hold(mutex_);
    return went_on_ || !next_.empty();
  }

  std::optional<AnswerOrFailure> take() {
    eventfd_t given = 0;
    if (eventfd_read(ready_.get(), &given) != 0) return std::nullopt;
    const std::lock_guard hold(mutex_);
    return std::exchange(outcome_, std::nullopt);
  }

  void dismiss() {
    {
      const std::lock_guard hold(mutex_);
      dismissed_ = true;
    }
    eventfd_write(asked_.get(), 1);
  }

  bool is_complete() const { return ready_.valid() && asked_.valid(); }

  int ready() const { return ready_.get(); }  ///< readable: there is an outcome, or after dismiss(): the thread is done
  WireGuard& guard() { return guard_; }

  // --- the thread's side ---

  void serve() {
    {
      ConnectorSession session(settings_, guard_);
      give(session.connect());
      while (const auto statement = asked()) give(carry_out(session, *statement));
    }
    eventfd_write(ready_.get(), 1);
  }

 private:
  AnswerOrFailure carry_out(ConnectorSession& session, const std::string& statement) {
    AnswerOrFailure outcome = session.execute(statement);
    const std::string next = follower(goes_on(outcome));
    if (next.empty()) return outcome;
    const TimePoint sent = SystemClock().now();
    outcome = session.execute(next);
    if (auto* last = std::get_if<Answer>(&outcome)) last->went_on = sent;
    return outcome;
  }

  std::string follower(bool is_sent) {
    const std::lock_guard hold(mutex_);
    std::string next = std::exchange(next_, std::string());
    went_on_ = is_sent && !next.empty();
    return is_sent ? next : std::string();
  }

  std::optional<std::string> asked() {
    while (true) {
      eventfd_t times = 0;
      if (eventfd_read(asked_.get(), &times) != 0) continue;
      const std::lock_guard hold(mutex_);
      return dismissed_ ? std::nullopt : std::exchange(statement_, std::nullopt);
    }
  }

  void give(AnswerOrFailure outcome) {
    if (ends_connection(outcome)) guard_.shut_out();  // the library has closed it, and the server is to see that
    {
      const std::lock_guard hold(mutex_);
      outcome_ = std::move(outcome);
    }
    eventfd_write(ready_.get(), 1);
  }

  const DatabaseSettings settings_;
  WireGuard guard_;
  const UniqueFd ready_{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const UniqueFd asked_{eventfd(0, EFD_CLOEXEC)};  ///< the thread waits in a read of it
  mutable std::mutex mutex_;
  std::optional<std::string> statement_;  ///< guarded, as all below
  std::string next_;                      ///< after it
  bool went_on_ = false;                  ///< next_ was sent
  std::optional<AnswerOrFailure> outcome_;
  bool dismissed_ = false;
};

void* serve(void* argument) {
  const std::unique_ptr<std::shared_ptr<Exchange>> owned(static_cast<std::shared_ptr<Exchange>*>(argument));
  (*owned)->serve();
  return nullptr;
}

/// False: the system has none to give.
bool start_thread(const std::shared_ptr<Exchange>& exchange) {
  auto owned = std::make_unique<std::shared_ptr<Exchange>>(exchange);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  const SignalsBlocked blocked;
  const bool started = pthread_create(&thread, &attributes, serve, owned.get()) == 0;
  pthread_attr_destroy(&attributes);
  if (started) (void)owned.release();
  return started;
}

class ConnectorDatabase final : public Database {
 public:
  explicit ConnectorDatabase(const DatabaseSettings& settings) : exchange_(std::make_shared<Exchange>(settings)) {
    static const bool prepared = (ConnectorSession::prepare_library(), true);
    (void)prepared;
    if (exchange_->is_complete() && start_thread(exchange_)) return;
    outcome_ = Failure{0, "no thread for a connection", true, false};
  }

  ~ConnectorDatabase() override {
    const bool goodbye = !busy_ && !broken_;
    if (!goodbye) exchange_->guard().shut_out();
    exchange_->dismiss();
    pollfd done{exchange_->ready(), POLLIN, 0};
    if (goodbye) poll(&done, 1, kGoodbye);
  }
  ConnectorDatabase(const ConnectorDatabase&) = delete;
  ConnectorDatabase& operator=(const ConnectorDatabase&) = delete;

  void begin(std::string statement, std::string next) override {
    busy_ = true;
    if (broken_) return void(outcome_ = Failure{0, "the connection is closed", true, true});
    exchange_->ask(std::move(statement), std::move(next));
  }

  bool went_on() const override { return exchange_->went_on(); }

  std::optional<AnswerOrFailure> outcome() override {
    if (!busy_) return std::nullopt;
    auto outcome = outcome_ ? std::exchange(outcome_, std::nullopt) : exchange_->take();
    if (!outcome) return outcome;
    busy_ = false;
    broken_ = broken_ || ends_connection(*outcome);
    return outcome;
  }

  void add_interest(std::vector<pollfd>& fds) const override {
    if (busy_) fds.push_back({exchange_->ready(), POLLIN, 0});
    else if (!broken_) fds.push_back({exchange_->guard().socket(), POLLIN | POLLRDHUP, 0});
  }

  void close() override {
    broken_ = true;
    exchange_->stop();
    if (busy_ && !outcome_) outcome_ = exchange_->take();
    if (busy_ && !outcome_) outcome_ = Failure{0, "given up", true, true};
    exchange_->guard().shut_out();
  }

  bool usable() override {
    if (broken_) return false;
    if (busy_) return true;
    pollfd fd{exchange_->guard().socket(), POLLIN | POLLRDHUP, 0};
    // A server that has something to say unasked has one thing to say.
    if (fd.fd < 0 || (poll(&fd, 1, 0) > 0 && fd.revents != 0)) broken_ = true;
    return !broken_;
  }

 private:
  const std::shared_ptr<Exchange> exchange_;
  std::optional<AnswerOrFailure> outcome_;  ///< known without the thread
  bool busy_ = true;                        ///< begun, and its outcome not taken
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Database> connect_by_connector(const DatabaseSettings& settings) {
  return std::make_unique<ConnectorDatabase>(settings);
}

}  // namespace dlock::mysql
