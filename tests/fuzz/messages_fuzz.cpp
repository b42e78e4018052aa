// SPDX-License-Identifier: Apache-2.0
// What a keeper says is bad input too: refused or understood, and what was understood says the same when it is said
// again.
#include "lib/keeper/messages.h"
#include "tests/fuzz/target.h"

using namespace dlock;

const std::string_view dlock::kPieces[] = {"granted",
                                           "renewed",
                                           "lost",
                                           "refused",
                                           "waiting",
                                           "unconfirmed",
                                           "acquire",
                                           "\n",
                                           "=",
                                           "deadline",
                                           "name",
                                           "owner",
                                           "token",
                                           "store",
                                           "why",
                                           "code",
                                           "message",
                                           "next",
                                           "state.name",
                                           "state.store",
                                           "state.mode",
                                           "holder.0.mode",
                                           "holder.0.pid",
                                           "%0A",
                                           "%",
                                           "%4",
                                           "0",
                                           "7",
                                           "-9223372036854775808",
                                           "k",
                                           "0123456789abcdef0123456789abcdef",
                                           "url",
                                           "redis://h",
                                           "ttl",
                                           "asked",
                                           "holder.more",
                                           "waiter.more",
                                           "18446744073709551616"};
const std::size_t dlock::kPieceCount = std::size(kPieces);

namespace {

/// A queue as long, and with texts as long, as the input says: it fits, nobody is forgotten, and it is understood. For
/// one input in 64, because each is as long as all the others together.
void check_long_queue(const std::uint8_t* data, std::size_t size) {
  if (size < 5 || data[4] % 16 != 0) return;
  LockState state{*LockName::parse("k"), "redis://h", Mode::kExclusive, 0, {}, {}};
  Participant participant;
  participant.reason = std::string(data[2] * std::size_t{16}, static_cast<char>(data[3]));
  participant.host = std::string(as_text(data, size));
  state.holders.assign(data[0], participant);
  state.waiters.assign(data[1] * std::size_t{4}, participant);
  const std::string packet =
      encode(event_message(Refused{{ErrorCode::kBusy, participant.reason, participant.host}, state}));
  promise(packet.size() <= kLargestMessage, "a message is not larger than the largest");
  const auto message = decode(packet);
  promise(static_cast<bool>(message), "a long queue is decoded");
  const auto event = parse_event(*message);
  promise(static_cast<bool>(event), "a long queue is understood");
  const auto& told = std::get<Refused>(*event).state;
  promise(told && told->holders.size() + told->more_holders == state.holders.size(), "every holder is counted");
  promise(told && told->waiters.size() + told->more_waiters == state.waiters.size(), "every waiter is counted");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check_long_queue(data, size);
  const auto message = decode(as_text(data, size));
  if (!message) return 0;
  const auto again = decode(encode(*message));
  promise(again && again->verb == message->verb && again->fields == message->fields, "a message says the same again");
  static_cast<void>(static_cast<bool>(parse_acquire(*message)));
  static_cast<void>(static_cast<bool>(parse_deadline(*message)));
  const auto event = parse_event(*message);
  if (!event) return 0;
  const auto same = parse_event(event_message(*event));
  promise(same && same->index() == event->index(), "an event is the same event again");
  return 0;
}
