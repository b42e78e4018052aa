// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/holder.h"

#include "lib/base/human_text.h"

namespace dlock {

const char* mode_name(Mode mode) {
  switch (mode) {
    case Mode::kExclusive:
      return "exclusive";
    case Mode::kShared:
      return "shared";
    case Mode::kPermits:
      return "permits";
  }
  return "?";
}

const char* mode_letter(Mode mode) {
  switch (mode) {
    case Mode::kExclusive:
      return "x";
    case Mode::kShared:
      return "s";
    case Mode::kPermits:
      return "p";
  }
  return "x";
}

std::string forced_by(const std::string& by) {
  return by.empty() ? "it was force-released by an operator" : "force-released by " + printable(by, 300);
}

void mark_lease(Participant& party, std::int64_t left_to) {
  party.lease = true;
  party.pid = left_to;
  if (left_to > 0) party.note = "until process " + std::to_string(left_to) + " ends";
}

}  // namespace dlock
