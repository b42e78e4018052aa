// SPDX-License-Identifier: Apache-2.0
#include "lib/lock/who_text.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "lib/base/text.h"
#include "lib/base/users.h"

namespace dlock {
namespace {

constexpr char kUnit = '\x1f';  // between the parts, and in none of them

/// Of a run, instead of the process that a lease is left to: how long it keeps the lock at least, in ms; then its ttl.
constexpr char kAtLeast = '>';
constexpr char kReplaces = 'r';  // after it
constexpr char kIsNewest = 'n';
constexpr int kPartsBeforeRevocation = 5;
constexpr char kRan = '=';  // before how the command has ended, instead of who asks
constexpr std::int64_t kMostMs = std::int64_t{366} * 24 * 3600 * 1000;

std::string text_of(const std::string& reason, const std::string& command, const std::string& left_to) {
  utsname name{};
  uname(&name);
  std::string text = name.nodename;
  text.append(1, kUnit).append(std::to_string(getppid()));
  if (!command.empty()) text.append(1, ':').append(command);
  if (!left_to.empty()) text.append(1, ' ').append(left_to);
  text.append(1, kUnit).append(user_name(geteuid()));
  text += kUnit;
  for (const char c : reason) text += c == kUnit ? ' ' : c;
  return text;
}

std::string whole_ms(Duration d) { return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(d).count()); }

/// 0 for what is not a process.
std::int64_t pid_in(std::string_view text) { return std::max<std::int64_t>(0, leading_number<std::int64_t>(text)); }

Duration ms_in(std::string_view text) {
  return std::chrono::milliseconds(std::clamp<std::int64_t>(leading_number<std::int64_t>(text), 0, kMostMs));
}

}  // namespace

std::string command_name(std::string_view path) {
  std::string name(utf8_prefix(path.substr(path.rfind('/') + 1), kLongestCommandName));
  for (char& c : name) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') c = '_';
  }
  return name;
}

std::string who_text(const LockSpec& spec) {
  if (spec.left_to) return text_of(spec.reason, spec.command, std::to_string(*spec.left_to));
  std::string marks = kAtLeast + whole_ms(spec.at_least);
  if (spec.supersedes == Supersedes::kReplace) marks += kReplaces;
  if (spec.supersedes == Supersedes::kNewest) marks += kIsNewest;
  return text_of(spec.reason, spec.command, marks + ' ' + whole_ms(spec.ttl));
}
std::string who_text(const std::string& reason) { return text_of(reason, {}, {}); }

std::string who_asks(const std::string& reason) {
  utsname name{};
  uname(&name);
  return user_name(geteuid()) + "@" + name.nodename + (reason.empty() ? "" : ": " + reason);
}

std::string who_replaces(const std::string& reason) { return kReplacement + who_asks(reason); }

std::string with_slot(std::string who, const std::string& slot) {
  if (!slot.empty()) who.append(1, kUnit).append(slot);
  return who;
}

std::string with_revocation(std::string_view who, const std::string& by) {
  std::string text;
  for (int i = 0; i < kPartsBeforeRevocation; ++i) text.append(cut(who, kUnit)).append(1, kUnit);
  return text + by;
}

std::string revocation_of(std::string_view record) {
  for (int i = 0; i < kPartsBeforeRevocation; ++i) cut(record, kUnit);
  return record.starts_with(kRan) ? std::string() : std::string(record);
}

std::string ran_word(const std::string& ran) { return kRan + ran; }

void add_word(Participant& participant, std::string_view word) {
  if (word.starts_with(kRan)) participant.ran = word.substr(1);
  else participant.revoked = word;
}

void add_who(Participant& participant, std::string_view text) {
  add_who(participant, text, participant.token != FencingToken());
}

void add_who(Participant& participant, std::string_view text, bool holds) {
  participant.host = cut(text, kUnit);
  std::string_view ttl = cut(text, kUnit);
  std::string_view command = cut(ttl, ' ');
  const std::string_view left_to = cut(ttl, ' ');
  participant.pid = pid_in(cut(command, ':'));
  participant.command = command;
  participant.user = cut(text, kUnit);
  participant.reason = cut(text, kUnit);
  participant.slot = cut(text, kUnit);
  if (holds) add_word(participant, text);
  const bool marked = left_to.size() > 1 && left_to.front() == kAtLeast;
  if (marked && left_to.back() == kReplaces) participant.supersedes = Supersedes::kReplace;
  if (marked && left_to.back() == kIsNewest) participant.supersedes = Supersedes::kNewest;
  if (!holds || left_to.empty()) return;
  if (left_to.front() != kAtLeast) return mark_lease(participant, pid_in(left_to));
  participant.at_least = ms_in(left_to.substr(1));
  participant.ttl = ms_in(ttl);
}

std::string slot_of(std::string_view who) {
  Participant participant;
  add_who(participant, who);
  return participant.slot;
}

}  // namespace dlock
