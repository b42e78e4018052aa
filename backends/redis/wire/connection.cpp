// SPDX-License-Identifier: Apache-2.0
#include "backends/redis/wire/connection.h"

#include <algorithm>
#include <array>

#include "backends/redis/wire/reply.h"
#include "backends/redis/wire/server_info.h"
#include "backends/redis/wire/socket_stream.h"
#include "lib/config/secret.h"

namespace dlock::redis {
namespace {

constexpr Duration kAskAgain = std::chrono::milliseconds(50);
/// How long a TLS handshake may take before we ask whether that is TLS at all, and how long an answer may.
constexpr Duration kDoubtAfter = std::chrono::milliseconds(500);
constexpr Duration kProbeFor = std::chrono::milliseconds(300);
/// So many pushed messages wait to be taken: a server sends one for each change of a key, and a keeper takes them soon.
constexpr std::size_t kMostPushed = 1024;

enum class Greeting { kAuth, kHello, kSelect, kSetName };

Result<std::unique_ptr<ByteStream>> dial_server(const ConnectionSettings& settings, TimePoint until) {
  auto socket = open_socket(settings.reached.value_or(settings.endpoint), until);
  if (!socket || !settings.tls) return socket;
  return start_tls(std::move(*socket), *settings.tls, settings.endpoint.host);
}

}  // namespace

struct Connection::Impl {
  /// From open() to close().
  struct Session {
    Session() {}  // not defaulted: clang 14 cannot see through the initialisers below from within this class
    std::unique_ptr<ByteStream> stream;
    std::optional<Error> failed;  ///< returned by the next advance()
    std::optional<Error> denied;  ///< AUTH was refused, or HELLO names another kind; reported when all is answered
    TimePoint connect_by;
    bool greeted = false;
    std::deque<Greeting> due;  ///< greetings whose answers are to come
    std::string outbox;
    std::string held;  ///< requests that wait for one of these
    bool authenticated = true;
    bool in_database = true;
    bool known = true;  ///< the kind of server is known
    std::optional<TimePoint> select_at;
    bool subscribed = false;
    bool heard = false;  ///< any reply
    bool asks = false;   ///< the request has not begun to be written
    std::optional<ProtocolProbe> probe;
    std::optional<TimePoint> probe_at;  ///< begins, while TLS is shaken hands on; must be over, when that is `in_doubt`
    std::optional<Error> in_doubt;      ///< why the connection ended, unless the server speaks TLS or is a proxy
    ReplyReader reader;
    std::deque<Reply> replies;

    bool may_ask() const { return authenticated && in_database && known; }
    bool is_over(std::size_t outstanding) const { return due.empty() && (outstanding == 0 || !may_ask()); }
    void send_held() {
      if (may_ask()) outbox += std::exchange(held, {});
    }
  };

  Impl(ConnectionSettings& its_settings, TimePoint& its_asked_at, Dial its_dial)
      : settings(its_settings), asked_at(its_asked_at), dial(std::move(its_dial)) {}

  void greet();
  void queue(Greeting kind, const Command& command);
  Result<void> go_on(TimePoint now, bool& ready, std::size_t& outstanding);
  Result<void> step(TimePoint now, bool& ready, std::size_t& outstanding);
  Result<void> shake_hands(TimePoint now, bool& ready);
  bool may_speak_tls(const Error& why, bool ready) const;
  bool may_be_refused(const Error& why, bool ready, std::size_t outstanding) const;
  Result<void> settle_doubt(TimePoint now);
  Error after_second_look(std::optional<bool> answered) const;
  void start_probe(ProtocolProbe::Protocol asked, TimePoint until);
  Result<void> write(TimePoint now);
  Result<void> read(TimePoint now, std::size_t& outstanding);
  Result<void> take(Reply reply, TimePoint now, std::size_t& outstanding);
  Result<void> take_as_stranger(std::size_t& outstanding);
  Result<void> take_greeting(const Reply& reply, TimePoint now);
  Result<void> take_select(const Reply& reply, TimePoint now);
  Error timed_out() const;
  Error broken(Error why, bool ready) const;
  std::string name() const { return settings.endpoint.text(); }

  ConnectionSettings& settings;
  TimePoint& asked_at;
  Dial dial;
  std::optional<Session> session;
  bool was_understood = false;  ///< has ever had a reply
};

void Connection::Impl::queue(Greeting kind, const Command& command) {
  append_encoded(session->outbox, command);
  session->due.push_back(kind);
}

void Connection::Impl::greet() {
  session->greeted = true;
  if (!settings.password.empty()) {
    Command auth{"AUTH"};
    if (!settings.user.empty()) auth.push_back(settings.user);
    auth.push_back(settings.password);
    session->authenticated = settings.greet == Greet::kAlong;
    queue(Greeting::kAuth, auth);
  }
  if (!settings.alone.empty()) {
    // Of many, a stopped one has to find its messages when it goes on; each change names its owner.
    session->known = settings.greet == Greet::kAlong || settings.alone == "redlock";
    queue(Greeting::kHello, {"HELLO", "2"});
  }
  if (settings.database != 0) {
    session->in_database = false;
    queue(Greeting::kSelect, {"SELECT", std::to_string(settings.database)});
  }
  if (!settings.client_name.empty()) queue(Greeting::kSetName, {"CLIENT", "SETNAME", settings.client_name});
}

Error Connection::Impl::timed_out() const {
  Error error{ErrorCode::kUnavailable, "timed out"};
  if (settings.tls) error.next = "does the server speak TLS on that port?";
  return error;
}

/// The stream's reason, with the name of the server.
Error Connection::Impl::broken(Error why, bool ready) const {
  const std::string at = settings.reached ? " (at " + settings.reached->text() + ", by address-map)" : "";
  why.message = (ready ? "lost the connection to " : "cannot reach ") + name() + at + ": " + why.message;
  if (!ready || !why.next.empty()) return why;
  why.next = settings.tls ? "it may want a client certificate: cert-file and key-file" : "it may want TLS: rediss://";
  if (session->heard) why.next = "it may have been stopped";
  why.next += "; or it had more to say than client-output-buffer-limit allows: see its log";
  return why;
}

void Connection::Impl::start_probe(ProtocolProbe::Protocol asked, TimePoint until) {
  ConnectionSettings bare;
  bare.endpoint = settings.endpoint;
  bare.reached = settings.reached;
  if (asked == ProtocolProbe::Protocol::kAgain) bare.tls = settings.tls;
  session->probe.reset();
  auto stream = dial(bare, until);
  if (stream) session->probe.emplace(std::move(*stream), asked);
}

/// True if a server that has never answered may have been waiting for something else.
bool Connection::Impl::may_speak_tls(const Error& why, bool ready) const {
  const bool silent = ready && !was_understood && why.code == ErrorCode::kUnavailable;
  return silent && !settings.tls && settings.endpoint.socket.empty() && !session->denied;
}

/// True if a server that has asked for a certificate, and has never answered, may have ended the connection for that:
/// it says so by an alert, which a reset can overtake.
bool Connection::Impl::may_be_refused(const Error& why, bool ready, std::size_t outstanding) const {
  const bool asked = !ready || outstanding > 0;
  return asked && !session->heard && session->stream->judges_us() && why.code == ErrorCode::kUnavailable;
}

/// What a second connection says of the first, which had no answer: the same end again is no outage.
Error Connection::Impl::after_second_look(std::optional<bool> answered) const {
  const Session& s = *session;
  if (!s.probe || answered != false || !s.probe->why_not()) return *s.in_doubt;
  Error why = *s.probe->why_not();
  if (why.code != ErrorCode::kUnavailable) return broken(std::move(why), false);
  if (!s.probe->judges_us()) return *s.in_doubt;
  return broken({ErrorCode::kDenied,
                 "the server asks for a certificate, and ended two connections without an answer: " + why.message,
                 "name a certificate that it trusts with cert-file and key-file"},
                false);
}

Result<void> Connection::Impl::settle_doubt(TimePoint now) {
  Session& s = *session;
  const auto is_it = s.probe ? s.probe->advance() : std::optional(false);
  if (settings.tls) return is_it || now >= *s.probe_at ? Result<void>(after_second_look(is_it)) : Result<void>();
  if (is_it == true) return broken(s.probe->verdict(), false);
  if (is_it && s.probe && s.probe->asked() == ProtocolProbe::Protocol::kTls) {
    start_probe(ProtocolProbe::Protocol::kProxy, *s.probe_at);
    return settle_doubt(now);
  }
  if (is_it) s.in_doubt->next = "is it a Redis server that listens there? check the port";
  return is_it || now >= *s.probe_at ? Result<void>(*s.in_doubt) : Result<void>();
}

Result<void> Connection::Impl::go_on(TimePoint now, bool& ready, std::size_t& outstanding) {
  Session& s = *session;
  if (s.failed) return *s.failed;
  if (s.in_doubt) return settle_doubt(now);
  auto went = step(now, ready, outstanding);
  if (went) return went;
  const bool again = may_be_refused(went.error(), ready, outstanding);
  if (!again && !may_speak_tls(went.error(), ready)) return went;
  s.in_doubt = std::move(went).error();
  s.probe_at = again ? std::max(s.connect_by, now + kDoubtAfter) : now + kProbeFor;
  start_probe(again ? ProtocolProbe::Protocol::kAgain : ProtocolProbe::Protocol::kTls, *s.probe_at);
  return settle_doubt(now);
}

Result<void> Connection::Impl::shake_hands(TimePoint now, bool& ready) {
  Session& s = *session;
  auto shaken = s.stream->handshake();
  if (!shaken) return broken(std::move(shaken).error(), false);
  ready = *shaken;
  if (ready) return {};
  if (now >= s.connect_by) return broken(timed_out(), false);
  if (!settings.tls) return {};
  if (!s.probe_at) s.probe_at = now + kDoubtAfter;
  if (now >= *s.probe_at && !s.probe) start_probe(ProtocolProbe::Protocol::kPlain, s.connect_by);
  return s.probe && s.probe->advance() == true ? broken(s.probe->verdict(), false) : Result<void>();
}

Result<void> Connection::Impl::step(TimePoint now, bool& ready, std::size_t& outstanding) {
  Session& s = *session;
  if (!ready) {
    if (auto shaken = shake_hands(now, ready); !shaken || !ready) return shaken;
    s.probe.reset();
    s.probe_at.reset();
    if (s.outbox.empty()) return {};  // a server does not speak first
  }
  if (s.select_at && now >= *s.select_at) {
    s.select_at.reset();
    queue(Greeting::kSelect, {"SELECT", std::to_string(settings.database)});
  }
  if (auto wrote = write(now); !wrote) {
    auto last_words = read(now, outstanding);  // a server that turns us away says why
    return last_words ? wrote : last_words;
  }
  if (auto read_all = read(now, outstanding); !read_all) return read_all;
  return write(now);  // requests that waited for the answer to AUTH or SELECT
}

Result<void> Connection::Impl::write(TimePoint now) {
  Session& s = *session;
  if (s.asks && s.may_ask()) {
    s.asks = false;
    asked_at = now;
  }
  while (!s.outbox.empty()) {
    auto n = s.stream->write(s.outbox);
    if (!n) return broken(std::move(n).error(), true);
    if (*n == 0) break;
    s.outbox.erase(0, *n);
  }
  return {};
}

Result<void> Connection::Impl::read(TimePoint now, std::size_t& outstanding) {
  std::array<char, 16384> bytes;
  for (;;) {
    auto n = session->stream->read(bytes);
    if (!n) return broken(std::move(n).error(), true);
    if (*n == 0) return {};
    session->reader.feed({bytes.data(), *n});
    for (;;) {
      auto reply = session->reader.next();
      if (!reply) return broken(std::move(reply).error(), false);
      if (!*reply) break;
      if (auto taken = take(std::move(**reply), now, outstanding); !taken) return taken;
    }
  }
}

Result<void> Connection::Impl::take(Reply reply, TimePoint now, std::size_t& outstanding) {
  Session& s = *session;
  if (s.denied) return take_as_stranger(outstanding);
  s.heard = was_understood = true;
  if (auto error = turned_away(reply, name())) return std::move(*error);
  if (!s.due.empty()) {
    auto taken = take_greeting(reply, now);
    return taken && s.denied && s.is_over(outstanding) ? *s.denied : taken;
  }
  if (!s.subscribed && outstanding == 0)
    return Error{ErrorCode::kUnavailable, name() + " sent an answer that was not asked for"};
  if (outstanding > 0 && !(s.subscribed && is_pushed(reply))) --outstanding;
  else if (s.replies.size() >= kMostPushed)
    return Error{ErrorCode::kUnavailable, name() + " sends messages without end"};
  s.replies.push_back(std::move(reply));
  return {};
}

/// After a refused AUTH. What went with it may have been done, as the user "default": it is over when all is answered.
Result<void> Connection::Impl::take_as_stranger(std::size_t& outstanding) {
  Session& s = *session;
  if (!s.due.empty()) s.due.pop_front();
  else if (outstanding > 0) --outstanding;
  return s.is_over(outstanding) ? Result<void>(*s.denied) : Result<void>();
}

Result<void> Connection::Impl::take_greeting(const Reply& reply, TimePoint now) {
  const Greeting kind = session->due.front();
  session->due.pop_front();
  if (kind == Greeting::kSelect) return take_select(reply, now);
  if (kind == Greeting::kSetName) return {};
  if (kind == Greeting::kHello) {
    session->denied = not_alone(reply, settings.alone, name());
    session->known = session->known || !session->denied;
    session->send_held();
    return {};
  }
  if (!reply.is_error()) {
    session->authenticated = true;
    session->send_held();
    return {};
  }
  if (is_for_later(reply)) return Error{ErrorCode::kUnavailable, name() + " is not ready: " + words_of(reply)};
  if (auto rotated = rotated_password(settings.password_file, settings.password)) {
    settings.password = std::move(*rotated);
    session->denied = Error{ErrorCode::kUnavailable, name() + " refused the old password, and the file has a new one"};
    return {};
  }
  const bool none = reply.text.find("without any password") != std::string::npos;
  session->denied = Error{ErrorCode::kDenied, name() + " refused the user or the password: " + words_of(reply),
                          none ? "the server has no password: leave it out" : "check the user and the password"};
  return {};
}

Result<void> Connection::Impl::take_select(const Reply& reply, TimePoint now) {
  Session& s = *session;
  if (!reply.is_error()) {
    s.in_database = true;
    s.send_held();
    return {};
  }
  if (is_for_later(reply)) {
    s.select_at = now + kAskAgain;
    return {};
  }
  return Error{is_denied(reply) ? ErrorCode::kDenied : ErrorCode::kMisconfigured,
               name() + " refused database " + std::to_string(settings.database) + ": " + words_of(reply),
               "its databases begin with 0, and are 16 unless its configuration says more"};
}

Connection::Connection(ConnectionSettings settings) : Connection(std::move(settings), dial_server) {}

Connection::Connection(ConnectionSettings settings, Dial dial)
    : settings_(std::move(settings)), impl_(std::make_unique<Impl>(settings_, asked_at_, std::move(dial))) {}

Connection::~Connection() = default;

void Connection::open(TimePoint until) {
  close();
  started_ = true;
  ++opened_;
  Impl::Session& s = impl_->session.emplace();
  s.connect_by = until;
  auto stream = impl_->dial(settings_, until);
  if (stream) {
    s.stream = std::move(*stream);
    return;
  }
  // A file that cannot be used says nothing of the server, which has not been asked.
  const ErrorCode code = stream.error().code;
  const bool of_server = code == ErrorCode::kUnavailable || code == ErrorCode::kSystem;
  s.failed = of_server ? impl_->broken(std::move(stream).error(), false) : std::move(stream).error();
}

void Connection::send(const Command& command) {
  Impl::Session& s = *impl_->session;
  if (!s.greeted) impl_->greet();
  if (is_subscription(command)) s.subscribed = true;
  if (outstanding_ == 0) s.asks = true;
  append_encoded(s.may_ask() ? s.outbox : s.held, command);
  outstanding_ += answers_to(command);
}

bool Connection::is_subscribed() const { return started_ && impl_->session->subscribed; }

Result<void> Connection::advance(TimePoint now) {
  if (!started_) return {};
  Impl::Session& s = *impl_->session;
  const std::size_t before = s.replies.size();
  auto went = impl_->go_on(now, ready_, outstanding_);
  if (!went && s.denied) went = *s.denied;
  if (went) return went;
  if (s.replies.size() > before) {  // answers before the end count
    s.failed = std::move(went).error();
    return {};
  }
  close();
  return went;
}

std::optional<Reply> Connection::next_reply() {
  if (!started_ || impl_->session->replies.empty()) return std::nullopt;
  Reply reply = std::move(impl_->session->replies.front());
  impl_->session->replies.pop_front();
  return reply;
}

std::optional<Reply> Connection::next_answer() {
  if (!started_) return std::nullopt;
  Impl::Session& s = *impl_->session;
  const auto it = std::find_if(s.replies.begin(), s.replies.end(),
                               [&](const Reply& reply) { return !s.subscribed || !is_pushed(reply); });
  if (it == s.replies.end()) return std::nullopt;
  Reply reply = std::move(*it);
  s.replies.erase(it);
  return reply;
}

void Connection::close() {
  impl_->session.reset();
  started_ = false;
  ready_ = false;
  outstanding_ = 0;
}

void Connection::add_interest(std::vector<pollfd>& fds) const {
  if (!started_ || !impl_->session->stream) return;
  const Impl::Session& s = *impl_->session;
  if (!s.in_doubt) fds.push_back({s.stream->fd(), s.stream->events(ready_ && !s.outbox.empty()), 0});
  if (s.probe) s.probe->add_interest(fds);
}

std::optional<TimePoint> Connection::wake_at() const {
  if (!started_) return std::nullopt;
  const Impl::Session& s = *impl_->session;
  if (s.failed) return TimePoint();
  if (s.in_doubt) return s.probe_at;
  if (ready_) return s.select_at;
  return s.probe_at && !s.probe ? std::min(s.connect_by, *s.probe_at) : s.connect_by;
}

}  // namespace dlock::redis
