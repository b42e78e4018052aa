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
                                           "ttl"};
const std::size_t dlock::kPieceCount = std::size(kPieces);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
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
