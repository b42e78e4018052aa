// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/messages.h"

#include <iterator>
#include <utility>
#include <variant>

namespace dlock {

// Of types of other rooms, for the templates of message.h, which find them by these types' namespace.
constexpr ErrorCode last_of(ErrorCode) { return ErrorCode::kInternal; }
constexpr Log::Format last_of(Log::Format) { return Log::Format::kJson; }

static std::string field_text(const HeldClaim& claim) {
  return claim.owner.text() + " " + claim.token.text() + " " + claim.secret;
}
static bool read_field(const std::string& text, std::optional<HeldClaim>& claim) {
  std::string_view rest = text;
  const auto owner = Owner::parse(cut(rest, ' '));
  const auto token = FencingToken::parse_any(cut(rest, ' '));
  if (owner && token) claim = HeldClaim{*owner, *token, std::string(rest)};
  return claim.has_value();
}

static std::string field_text(const StockClaim& claim) {
  return field_text(claim.quantity) + " " + field_text(claim.lock_segment) + " " + claim.id.text();
}
static bool read_field(const std::string& text, std::optional<StockClaim>& claim) {
  std::string_view rest = text;
  const auto quantity = whole_number<std::int64_t>(cut(rest, ' '));
  const bool locks = cut(rest, ' ') == "1";
  const auto id = LockName::parse(rest);
  if (quantity && *quantity > 0 && id) claim = StockClaim{*id, *quantity, locks};
  return claim.has_value();
}

template <MaybeConst<Log::Style> Any, typename Visitor>
void visit_fields(Any& style, Visitor& visit) {
  visit("format", style.format);
  visit("quiet", style.quiet);
  visit("verbose", style.verbose);
  visit("colour", style.colour);
}

namespace {

/// Texts of servers and other clients are cut to this many bytes: names, a reason with who gives it, and sentences.
constexpr std::size_t kLongestName = 512;
constexpr std::size_t kLongestSentence = 4096;
constexpr std::size_t kWhole = std::string::npos;

/// In a struct that is read into: these two have no empty value.
struct Unread {
  operator LockName() const { return *LockName::parse("?"); }
  operator Owner() const { return Owner::random(); }
};

LockState blank_state() { return {.name = Unread(), .store = {}, .holders = {}, .waiters = {}}; }

/// As many as `room` bytes take, which it takes them off, and how many there are besides.
void put_participants(Message& message, const std::string& name, const std::vector<Participant>& participants,
                      std::size_t more, std::size_t& room) {
  std::size_t next = 0;
  for (; next < participants.size(); ++next) {
    Message one;
    MessageWriter fields(one, name + "." + field_text(next) + ".", kLongestName);
    visit_fields(participants[next], fields);
    const std::size_t size = encode(one).size();
    if (size > room) break;
    room -= size;
    message.fields.merge(one.fields);
  }
  more += participants.size() - next;
  if (more > 0) message.fields[name + ".more"] = field_text(more);
}

Result<std::vector<Participant>> get_participants(const Message& message, const std::string& name, std::size_t& more) {
  std::vector<Participant> participants;
  for (;;) {
    MessageReader in(message, name + "." + field_text(participants.size()) + ".");
    if (!in.has("mode")) break;
    visit_fields(participants.emplace_back(), in);
    if (!in.ok()) return in.error();
  }
  MessageReader in(message, name + ".");
  in.rare("more", more);
  if (!in.ok()) return in.error();
  return participants;
}

/// Without its participants.
template <MaybeConst<LockState> Any, typename Visitor>
void visit_fields(Any& state, Visitor& visit) {
  visit("name", state.name);
  visit("store", state.store);
  visit("mode", state.mode);
  visit("permits", state.permits);
  visit.rare("superseded_by", state.superseded_by);
  visit.rare("place", state.place);
}

/// After all other fields.
void put_state(Message& message, const LockState& state) {
  MessageWriter fields(message, "state.", kLongestSentence);
  visit_fields(state, fields);
  constexpr std::size_t kForTheRest = 64;  // "holder.more=" and "waiter.more=" with their numbers
  std::size_t room = kLargestMessage - kForTheRest - encode(message).size();
  std::size_t half = room / 2;
  room -= half;
  put_participants(message, "holder", state.holders, state.more_holders, half);
  room += half;
  put_participants(message, "waiter", state.waiters, state.more_waiters, room);
}

Result<LockState> get_state(const Message& message) {
  LockState state = blank_state();
  MessageReader in(message, "state.");
  visit_fields(state, in);
  if (!in.ok()) return in.error();
  TRY_ASSIGN(state.holders, get_participants(message, "holder", state.more_holders));
  TRY_ASSIGN(state.waiters, get_participants(message, "waiter", state.more_waiters));
  return state;
}

template <MaybeConst<HeldLock> Any, typename Visitor>
void visit_fields(Any& lock, Visitor& visit) {
  visit("name", lock.name);
  visit("owner", lock.owner);
  visit("token", lock.token);
  visit("store", lock.store);
  visit("reentered", lock.reentered);
  visit.rare("warning", lock.warning);
  visit.rare("parts", lock.parts);
  visit.rare("slot", lock.slot);
  visit.rare("bound", lock.bound);
}

/// The members of any event that are fields: all but a LockState.
template <typename AnyEvent, typename Visitor>
void visit_members(AnyEvent& event, Visitor& visit) {
  if constexpr (requires { event.deadline; }) visit("deadline", event.deadline);
  if constexpr (requires { event.lease; }) visit.rare("lease", event.lease);
  if constexpr (requires { event.keeper; }) visit.rare("keeper", event.keeper);
  if constexpr (requires { event.locks; }) {
    for (auto& lock : event.locks) visit_fields(lock, visit);  // a keeper keeps one
  }
  if constexpr (requires { event.why; }) visit("why", event.why);
  if constexpr (requires { event.by; }) visit.rare("by", event.by);
  if constexpr (requires { event.final; }) visit("final", event.final);
  if constexpr (requires { event.code; }) visit("code", event.code);
  if constexpr (requires { event.error; }) {
    visit("code", event.error.code);
    visit("message", event.error.message);
    visit.rare("next", event.error.next);
    visit.rare("left", event.error.left);
  }
}

/// The verb of each SessionEvent.
constexpr const char* kVerbs[] = {"granted",   "renewed", "unrenewed", "lost",     "refused",     "waiting",
                                  "unreached", "reached", "withdrawn", "released", "unconfirmed", "gone"};
static_assert(std::size(kVerbs) == std::variant_size_v<SessionEvent>);

template <typename Event>
SessionEvent blank_event() {
  if constexpr (std::same_as<Event, Waiting>) return Waiting{blank_state()};
  else return Event{};
}

template <std::size_t... kIndex>
std::optional<SessionEvent> blank_event(const std::string& verb, std::index_sequence<kIndex...> /*all*/) {
  std::optional<SessionEvent> event;
  ((verb == kVerbs[kIndex] ? event = blank_event<std::variant_alternative_t<kIndex, SessionEvent>>() : event), ...);
  return event;
}

}  // namespace

Message acquire_message(const BackendUrl& url, const LockSpec& spec, const Log::Style& style) {
  Message message{"acquire", {{"url", url.redacted()}, {"password", url.password}}};
  MessageWriter fields(message, {}, kWhole);
  visit_fields(spec, fields);
  MessageWriter log(message, "log.", kWhole);
  visit_fields(style, log);
  return message;
}

Result<AcquireRequest> parse_acquire(const Message& message) {
  std::string url;
  AcquireRequest request{{}, {.name = Unread(), .owner = Unread(), .wait = {}, .reason = {}, .ancestor = {}}, {}};
  MessageReader in(message);
  in("url", url);
  visit_fields(request.spec, in);
  MessageReader log(message, "log.");
  visit_fields(request.style, log);
  for (const MessageReader* read : {&in, &log}) {
    if (!read->ok()) return read->error();
  }
  TRY_ASSIGN(request.url, BackendUrl::parse(url));
  in.rare("password", request.url.password);
  return request;
}

Message event_message(const SessionEvent& event) {
  Message message{kVerbs[event.index()], {}};
  const bool granted = std::holds_alternative<Granted>(event);  // the segments of a stock may be many
  MessageWriter fields(message, {}, granted ? kWhole : kLongestSentence);
  std::visit([&](const auto& one) { visit_members(one, fields); }, event);
  if (const auto* waiting = std::get_if<Waiting>(&event)) put_state(message, waiting->state);
  if (const auto* refused = std::get_if<Refused>(&event); refused && refused->state)
    put_state(message, *refused->state);
  return message;
}

Result<SessionEvent> parse_event(const Message& message) {
  auto event = blank_event(message.verb, std::make_index_sequence<std::size(kVerbs)>());
  if (!event) return broken_message("unknown word '" + message.verb + "'");
  MessageReader in(message);
  if (auto* granted = std::get_if<Granted>(&*event); granted && in.has("name"))
    granted->locks = {{Unread(), Unread(), {}, {}}};
  std::visit([&](auto& one) { visit_members(one, in); }, *event);
  if (!in.ok()) return in.error();
  if (auto* waiting = std::get_if<Waiting>(&*event)) {
    TRY_ASSIGN(waiting->state, get_state(message));
  }
  if (auto* refused = std::get_if<Refused>(&*event); refused && in.has("state.name")) {
    TRY_ASSIGN(refused->state, get_state(message));
  }
  return std::move(*event);
}

Message deadline_message(const std::string& verb, TimePoint deadline) {
  return {verb, {{"deadline", field_text(deadline)}}};
}

Result<TimePoint> parse_deadline(const Message& message) {
  MessageReader in(message);
  TimePoint deadline;
  in("deadline", deadline);
  if (!in.ok()) return in.error();
  return deadline;
}

}  // namespace dlock
