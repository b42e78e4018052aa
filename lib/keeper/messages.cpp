// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/messages.h"

#include "lib/base/text.h"
#include "lib/lock/slots.h"

namespace dlock {
namespace {

/// Texts of servers and other clients are cut to this many bytes: names and reasons, and sentences.
constexpr std::size_t kLongestName = 256;
constexpr std::size_t kLongestSentence = 4096;

void put_participant(Message& message, const std::string& prefix, const Participant& participant) {
  auto& f = message.fields;
  f[prefix + "owner"] = utf8_prefix(participant.owner, kLongestName);
  f[prefix + "host"] = utf8_prefix(participant.host, kLongestName);
  f[prefix + "pid"] = digits(participant.pid);
  f[prefix + "user"] = utf8_prefix(participant.user, kLongestName);
  f[prefix + "reason"] = utf8_prefix(participant.reason, kLongestName);
  f[prefix + "mode"] = digits(static_cast<int>(participant.mode));
  f[prefix + "token"] = participant.token.text();
  f[prefix + "count"] = digits(participant.count);
  if (participant.lease) f[prefix + "lease"] = "1";
  if (participant.at_least > Duration(0)) f[prefix + "least"] = digits(participant.at_least.count());
  f[prefix + "note"] = utf8_prefix(participant.note, kLongestName);
  if (participant.standing != Standing::kRegular)
    f[prefix + "standing"] = digits(static_cast<int>(participant.standing));
  if (!participant.slot.empty()) f[prefix + "slot"] = utf8_prefix(participant.slot, kLongestName);
  if (!participant.command.empty()) f[prefix + "command"] = utf8_prefix(participant.command, kLongestName);
  if (!participant.revoked.empty()) f[prefix + "revoked"] = utf8_prefix(participant.revoked, kLongestSentence);
  if (!participant.ran.empty()) f[prefix + "ran"] = utf8_prefix(participant.ran, kLongestName);
  if (participant.since) f[prefix + "since"] = digits(participant.since->time_since_epoch().count());
  if (participant.until) f[prefix + "until"] = digits(participant.until->time_since_epoch().count());
}

Participant get_participant(MessageReader& in) {
  Participant participant;
  participant.owner = in.text_or_empty("owner");
  participant.host = in.text_or_empty("host");
  participant.pid = in.number_or("pid", 0);
  participant.user = in.text_or_empty("user");
  participant.reason = in.text_or_empty("reason");
  participant.mode = in.choice("mode", Mode::kPermits);
  participant.token = FencingToken(static_cast<std::uint64_t>(in.number_or("token", 0)));
  participant.count = static_cast<int>(in.number_or("count", 1));
  participant.lease = in.number_or("lease", 0) != 0;
  participant.at_least = Duration(in.number_or("least", 0));
  participant.note = in.text_or_empty("note");
  participant.standing = in.number_or("standing", 0) == 0 ? Standing::kRegular : in.choice("standing", kLastStanding);
  participant.slot = in.text_or_empty("slot");
  participant.command = in.text_or_empty("command");
  participant.revoked = in.text_or_empty("revoked");
  participant.ran = in.text_or_empty("ran");
  participant.since = in.optional_wall("since");
  participant.until = in.optional_wall("until");
  return participant;
}

/// As many as `room` bytes take, which it takes them off, and how many there are besides.
void put_participants(Message& message, const std::string& name, const std::vector<Participant>& participants,
                      std::size_t more, std::size_t& room) {
  std::size_t next = 0;
  for (; next < participants.size(); ++next) {
    Message one;
    put_participant(one, name + "." + digits(next) + ".", participants[next]);
    const std::size_t size = encode(one).size();
    if (size > room) break;
    room -= size;
    message.fields.merge(one.fields);
  }
  more += participants.size() - next;
  if (more > 0) message.fields[name + ".more"] = digits(more);
}

Result<std::vector<Participant>> get_participants(const Message& message, const std::string& name, std::size_t& more) {
  std::vector<Participant> participants;
  for (;;) {
    MessageReader in(message, name + "." + digits(participants.size()) + ".");
    if (!in.has("mode")) break;
    participants.push_back(get_participant(in));
    if (!in.ok()) return in.error();
  }
  MessageReader in(message, name + ".");
  const std::int64_t rest = in.number_or("more", 0);
  if (rest < 0) in.fail("more");
  if (!in.ok()) return in.error();
  more = static_cast<std::size_t>(rest);
  return participants;
}

void put_state(Message& message, const LockState& state) {
  message.fields["state.name"] = state.name.text();
  message.fields["state.store"] = utf8_prefix(state.store, kLongestSentence);
  if (!state.superseded_by.empty()) {
    message.fields["state.superseded"] = utf8_prefix(state.superseded_by, kLongestSentence);
  }
  message.fields["state.mode"] = digits(static_cast<int>(state.mode));
  message.fields["state.permits"] = digits(state.permits);
  if (state.place > 0) message.fields["state.place"] = digits(state.place);
  constexpr std::size_t kForTheRest = 64;  // "holder.more=" and "waiter.more=" with their numbers
  std::size_t room = kLargestMessage - kForTheRest - encode(message).size();
  std::size_t half = room / 2;
  room -= half;
  put_participants(message, "holder", state.holders, state.more_holders, half);
  room += half;
  put_participants(message, "waiter", state.waiters, state.more_waiters, room);
}

Result<LockState> get_state(const Message& message) {
  MessageReader in(message, "state.");
  TRY_ASSIGN(const auto name, LockName::parse_stored(in.text("name")));
  LockState state{
      name, in.text("store"), in.choice("mode", Mode::kPermits), static_cast<int>(in.number_or("permits", 0)), {}, {}};
  state.superseded_by = in.text_or_empty("superseded");
  const std::int64_t place = in.number_or("place", 0);
  if (place < 0) in.fail("place");
  if (!in.ok()) return in.error();
  state.place = static_cast<std::size_t>(place);
  TRY_ASSIGN(auto holders, get_participants(message, "holder", state.more_holders));
  TRY_ASSIGN(auto waiters, get_participants(message, "waiter", state.more_waiters));
  state.holders = std::move(holders);
  state.waiters = std::move(waiters);
  return state;
}

void put_error(Message& message, const Error& error) {
  message.fields["code"] = digits(static_cast<int>(error.code));
  message.fields["message"] = utf8_prefix(error.message, kLongestSentence);
  message.fields["next"] = utf8_prefix(error.next, kLongestSentence);
}

Error get_error(MessageReader& in) {
  return {in.choice("code", ErrorCode::kInternal), in.text("message"), in.text_or_empty("next")};
}

Result<SessionEvent> parse_granted(const Message& message) {
  Granted granted;
  MessageReader in(message);
  granted.deadline = in.optional_point("deadline");
  granted.lease = Duration(in.number_or("lease", 0));
  granted.keeper = static_cast<pid_t>(in.number_or("keeper", 0));
  if (in.has("name")) {
    TRY_ASSIGN(const auto name, LockName::parse_stored(in.text("name")));
    TRY_ASSIGN(const auto owner, Owner::parse(in.text("owner")));
    TRY_ASSIGN(const auto token, FencingToken::parse_any(in.text("token")));
    granted.locks.push_back({name, owner, token, in.text("store"), in.number_or("reentered", 0) != 0,
                             in.text_or_empty("warning"), in.text_or_empty("parts"), in.text_or_empty("slot"),
                             in.number_or("bound", 0) != 0});
  }
  if (!in.ok()) return in.error();
  return SessionEvent(std::move(granted));
}

Result<SessionEvent> parse_refused(const Message& message) {
  MessageReader in(message);
  Refused refused{get_error(in), std::nullopt};
  if (!in.ok()) return in.error();
  if (message.find("state.name")) {
    TRY_ASSIGN(auto state, get_state(message));
    refused.state = std::move(state);
  }
  return SessionEvent(std::move(refused));
}

/// Writes each event; the other direction is parse_event.
struct EventWriter {
  Message operator()(const Granted& granted) const {
    Message message{"granted", {}};
    if (granted.deadline) message.fields["deadline"] = digits(*granted.deadline);
    if (granted.lease > Duration(0)) message.fields["lease"] = digits(granted.lease.count());
    if (granted.keeper > 0) message.fields["keeper"] = digits(granted.keeper);
    if (granted.locks.empty()) return message;
    const HeldLock& lock = granted.locks.front();  // a keeper keeps one lock
    message.fields["name"] = lock.name.text();
    message.fields["owner"] = lock.owner.text();
    message.fields["token"] = lock.token.text();
    message.fields["store"] = lock.store;
    message.fields["reentered"] = lock.reentered ? "1" : "0";
    if (!lock.warning.empty()) message.fields["warning"] = utf8_prefix(lock.warning, kLongestSentence);
    if (!lock.parts.empty()) message.fields["parts"] = lock.parts;
    if (!lock.slot.empty()) message.fields["slot"] = lock.slot;
    if (lock.bound) message.fields["bound"] = "1";
    return message;
  }
  Message operator()(const Renewed& renewed) const { return deadline_message("renewed", renewed.deadline); }
  Message operator()(const Unrenewed& unrenewed) const {
    return {"unrenewed", {{"why", std::string(utf8_prefix(unrenewed.why, kLongestSentence))}}};
  }
  Message operator()(const Lost& lost) const {
    Message message{lost.final ? "lost" : "asked", {{"why", std::string(utf8_prefix(lost.why, kLongestSentence))}}};
    if (!lost.by.empty()) message.fields["by"] = utf8_prefix(lost.by, kLongestSentence);
    return message;
  }
  Message operator()(const Refused& refused) const {
    Message message{"refused", {}};
    put_error(message, refused.error);
    if (refused.state) put_state(message, *refused.state);
    return message;
  }
  Message operator()(const Waiting& waiting) const {
    Message message{"waiting", {}};
    put_state(message, waiting.state);
    return message;
  }
  Message operator()(const Unreached& unreached) const {
    return {"unreached", {{"why", std::string(utf8_prefix(unreached.why, kLongestSentence))}}};
  }
  Message operator()(const Reached&) const { return {"reached", {}}; }
  Message operator()(const Withdrawn&) const { return {"withdrawn", {}}; }
  Message operator()(const Released&) const { return {"released", {}}; }
  Message operator()(const ReleaseUnconfirmed& unconfirmed) const {
    Message message{"unconfirmed", {}};
    put_error(message, unconfirmed.error);
    return message;
  }
  Message operator()(const SessionGone& gone) const {
    return {
        "gone",
        {{"why", std::string(utf8_prefix(gone.why, kLongestSentence))}, {"code", digits(static_cast<int>(gone.code))}}};
  }
};

}  // namespace

Message acquire_message(const BackendUrl& url, const LockSpec& spec, const Log::Style& style) {
  Message message{"acquire", {}};
  auto& f = message.fields;
  f["url"] = url.redacted();
  f["password"] = url.password;
  f["name"] = spec.name.text();
  f["owner"] = spec.owner.text();
  f["mode"] = digits(static_cast<int>(spec.mode));
  f["permits"] = digits(spec.permits);
  if (!spec.slots.empty()) f["slots"] = slots_text(spec.slots);
  f["fair"] = digits(static_cast<int>(spec.fair));
  f["ttl"] = digits(spec.ttl.count());
  f["renew"] = digits(spec.renew_interval.count());
  f["delay"] = digits(spec.lock_delay.count());
  f["least"] = digits(spec.at_least.count());
  f["once"] = digits(static_cast<int>(spec.wait.once));
  if (spec.wait.until) f["until"] = digits(*spec.wait.until);
  f["tries"] = digits(spec.wait.tries);
  f["pause"] = digits(spec.wait.retry_interval.count());
  f["connect"] = digits(spec.wait.connect_timeout.count());
  f["fallback"] = digits(static_cast<int>(spec.wait.has_fallback));
  f["supersedes"] = digits(static_cast<int>(spec.supersedes));
  f["alone"] = digits(static_cast<int>(spec.behind_nobody));
  f["reason"] = spec.reason;
  if (!spec.command.empty()) f["command"] = spec.command;
  f["kill"] = digits(spec.kill_after.count());
  f["ends"] = digits(static_cast<int>(spec.ends_command));
  f["take"] = digits(static_cast<int>(spec.take));
  if (spec.left_to) f["left"] = digits(*spec.left_to);
  if (spec.stock) {
    f["stock.id"] = spec.stock->id.text();
    f["stock.quantity"] = digits(spec.stock->quantity);
    f["stock.lock"] = digits(static_cast<int>(spec.stock->lock_segment));
  }
  f["log.quiet"] = digits(static_cast<int>(style.quiet));
  f["log.json"] = digits(static_cast<int>(style.format == Log::Format::kJson));
  f["log.verbose"] = digits(static_cast<int>(style.verbose));
  f["log.colour"] = digits(static_cast<int>(style.colour));
  f["secret"] = spec.secret;
  if (spec.ancestor) {
    f["ancestor.owner"] = spec.ancestor->owner.text();
    f["ancestor.token"] = spec.ancestor->token.text();
    f["ancestor.secret"] = spec.ancestor->secret;
  }
  return message;
}

Result<AcquireRequest> parse_acquire(const Message& message) {
  MessageReader in(message);
  TRY_ASSIGN(auto url, BackendUrl::parse(in.text("url")));
  url.password = in.text_or_empty("password");
  TRY_ASSIGN(const auto name, LockName::parse_stored(in.text("name")));
  TRY_ASSIGN(const auto owner, Owner::parse(in.text("owner")));
  LockSpec spec{.name = name, .owner = owner, .wait = {}, .reason = in.text_or_empty("reason"), .ancestor = {}};
  spec.command = in.text_or_empty("command");
  spec.mode = in.choice("mode", Mode::kPermits);
  spec.permits = static_cast<int>(in.number("permits"));
  if (in.has("slots")) {
    TRY_ASSIGN(auto slots, parse_slots(in.text("slots")));
    spec.slots = std::move(slots);
  }
  spec.fair = in.number("fair") != 0;
  spec.ttl = in.duration("ttl");
  spec.renew_interval = in.duration("renew");
  spec.lock_delay = in.duration("delay");
  spec.at_least = in.duration("least");
  spec.wait.once = in.number("once") != 0;
  spec.wait.until = in.optional_point("until");
  spec.wait.tries = static_cast<int>(in.number("tries"));
  spec.wait.retry_interval = in.duration("pause");
  spec.wait.connect_timeout = in.duration("connect");
  spec.wait.has_fallback = in.number("fallback") != 0;
  spec.supersedes = in.choice("supersedes", Supersedes::kNewest);
  spec.behind_nobody = in.number("alone") != 0;
  spec.kill_after = in.duration("kill");
  spec.ends_command = in.number("ends") != 0;
  spec.take = in.number("take") != 0;
  if (in.has("left")) spec.left_to = static_cast<pid_t>(in.number("left"));
  if (in.has("stock.id")) {
    TRY_ASSIGN(const auto id, LockName::parse(in.text("stock.id")));
    spec.stock = StockClaim{id, in.number("stock.quantity"), in.number("stock.lock") != 0};
    if (spec.stock->quantity < 1) in.fail("stock.quantity");
  }
  spec.secret = in.text("secret");
  if (in.has("ancestor.owner")) {
    TRY_ASSIGN(const auto outer, Owner::parse(in.text("ancestor.owner")));
    TRY_ASSIGN(const auto token, FencingToken::parse_any(in.text("ancestor.token")));
    spec.ancestor = HeldClaim{outer, token, in.text("ancestor.secret")};
  }
  const Log::Style style{.format = in.number("log.json") != 0 ? Log::Format::kJson : Log::Format::kText,
                         .quiet = in.number("log.quiet") != 0,
                         .verbose = in.number("log.verbose") != 0,
                         .colour = in.number("log.colour") != 0};
  if (!in.ok()) return in.error();
  return AcquireRequest{std::move(url), std::move(spec), style};
}

Message event_message(const SessionEvent& event) { return std::visit(EventWriter{}, event); }

Result<SessionEvent> parse_event(const Message& message) {
  MessageReader in(message);
  const std::string& verb = message.verb;
  if (verb == "granted") return parse_granted(message);
  if (verb == "refused") return parse_refused(message);
  if (verb == "withdrawn") return SessionEvent(Withdrawn{});
  if (verb == "released") return SessionEvent(Released{});
  if (verb == "reached") return SessionEvent(Reached{});
  if (verb == "waiting") {
    TRY_ASSIGN(auto state, get_state(message));
    return SessionEvent(Waiting{std::move(state)});
  }
  std::optional<SessionEvent> event;
  if (verb == "renewed") event = Renewed{in.point("deadline")};
  if (verb == "unrenewed") event = Unrenewed{in.text("why")};
  if (verb == "unreached") event = Unreached{in.text("why")};
  if (verb == "lost") event = Lost{in.text("why")};
  if (verb == "gone") event = SessionGone{in.text("why"), true, in.choice("code", ErrorCode::kInternal)};
  if (verb == "asked") event = Lost{in.text("why"), false, in.text_or_empty("by")};
  if (verb == "unconfirmed") event = ReleaseUnconfirmed{get_error(in)};
  if (!event) return broken_message("unknown word '" + verb + "'");
  if (!in.ok()) return in.error();
  return *event;
}

Message deadline_message(const std::string& verb, TimePoint deadline) {
  return {verb, {{"deadline", digits(deadline)}}};
}

Result<TimePoint> parse_deadline(const Message& message) {
  MessageReader in(message);
  const TimePoint deadline = in.point("deadline");
  if (!in.ok()) return in.error();
  return deadline;
}

}  // namespace dlock
