// SPDX-License-Identifier: Apache-2.0
#include "backends/local/slots.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/local/fence_file.h"
#include "backends/local/files/slot_lines.h"
#include "backends/local/files/standing_leases.h"
#include "lib/base/text.h"
#include "lib/base/users.h"
#include "lib/keeper/slot_lock.h"
#include "lib/lock/lock_errors.h"
#include "lib/lock/who_text.h"

namespace dlock::local {
namespace {

LockName key_of(const LockName& slot) { return *LockName::parse(slot.key()); }

template <std::size_t kSize>
void fill_text(char (&field)[kSize], std::string_view text) {
  text = text.substr(0, kSize - 1);
  std::memcpy(field, text.data(), text.size());
}

Participant runner_of(const SlotLine& line) {
  Participant who;
  add_who(who, line.who, true);
  who.owner = hex(line.owner);
  who.slot = line.slot;
  who.since = WallTime(std::chrono::microseconds(line.since_us));
  who.at_least = std::chrono::microseconds(line.remember_us);
  who.until = *who.since + std::chrono::microseconds(line.remember_us);
  return who;
}

/// The place of an older run of the slot, or of what is over, or a new one.
std::size_t place_for(const LockName& slot, const std::vector<SlotLine>& lines, TimePoint now) {
  std::size_t free = lines.size();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (sound(lines[i]) && lines[i].slot == slot.slot()) return i;
    if (!lasts(lines[i], now)) free = std::min(free, i);
  }
  return free;
}

class SlotMemory final : public KeyMemory {
 public:
  explicit SlotMemory(LocalContext& context) : context_(context) {}

  Result<void> fence(const LockName& resource, FencingToken token, TimePoint /*until*/) override {
    const auto passed = local::fence(context_, resource, token, {.once = true});
    return passed ? Result<void>() : passed.error();
  }
  Result<std::optional<Participant>> look_up(const LockName& slot, TimePoint until) override;
  Result<void> remember(const LockName& slot, const SlotRun& run, TimePoint until) override;
  Result<std::vector<Participant>> remembered(const LockName& key, TimePoint until) override;
  Result<Participant> forget(const LockName& slot, TimePoint until) override;
  void note_who_frees(const LockName& /*key*/, std::span<const std::string> /*owners*/,
                      const std::string& /*by*/) override {}
  std::string who_freed(const LockName& /*key*/, const std::string& /*owner*/, TimePoint /*until*/) override {
    return {};
  }
  Result<std::vector<Swept>> sweep(bool dry_run, Duration patience) override;

 private:
  TimePoint now() const { return context_.runtime.clock.now(); }
  Result<std::optional<LockFile>> file_of(const LockName& key, bool writable);
  Result<void> sweep_file(const LockFile& file, bool dry_run, std::vector<Swept>& swept);

  LocalContext& context_;
};

Result<std::optional<LockFile>> SlotMemory::file_of(const LockName& key, bool writable) {
  TRY_ASSIGN(const auto dir, context_.existing_directory());
  if (!dir) return std::optional<LockFile>();
  return LockFile::open_existing(*dir, lock_file_name(key), key.text(), writable);
}

Result<std::optional<Participant>> SlotMemory::look_up(const LockName& slot, TimePoint /*until*/) {
  TRY_ASSIGN(const auto file, file_of(key_of(slot), false));
  for (const SlotLine& line : file ? read_slot_lines(*file) : std::vector<SlotLine>()) {
    if (lasts(line, now()) && line.slot == slot.slot()) return std::optional(runner_of(line));
  }
  return std::optional<Participant>();
}

Result<void> SlotMemory::remember(const LockName& slot, const SlotRun& run, TimePoint /*until*/) {
  TRY_ASSIGN(const auto dir, context_.directory());
  const LockName key = key_of(slot);
  TRY_ASSIGN(const auto file, LockFile::open(*dir, lock_file_name(key), key.text()));
  TRY(file.guard());
  const Guarded guarded(file);
  TRY_ASSIGN(const auto header, file.read_header());
  if (!header.known) {
    TRY(file.write(header));
  }
  SlotLine line;
  fill_text(line.slot, slot.slot());
  fill_text(line.who, run.who);
  from_hex(run.owner.text(), line.owner);
  line.boot = this_boot();
  line.since_us = context_.runtime.clock.wall().time_since_epoch().count();
  line.until_boot_ns = (now() + run.remember).time_since_epoch().count();
  line.remember_us = std::chrono::ceil<std::chrono::microseconds>(run.remember).count();
  TRY(write_slot_line(file, place_for(slot, read_slot_lines(file), now()), line));
  return sweep_slot_lines(file, read_slot_lines(file), now());
}

Result<std::vector<Participant>> SlotMemory::remembered(const LockName& key, TimePoint /*until*/) {
  TRY_ASSIGN(const auto file, file_of(key, false));
  std::vector<Participant> all;
  for (const SlotLine& line : file ? read_slot_lines(*file) : std::vector<SlotLine>()) {
    if (lasts(line, now())) all.push_back(runner_of(line));
  }
  std::sort(all.begin(), all.end(), [](const Participant& a, const Participant& b) { return a.slot < b.slot; });
  return all;
}

Result<Participant> SlotMemory::forget(const LockName& slot, TimePoint /*until*/) {
  TRY_ASSIGN(const auto file, file_of(key_of(slot), true));
  if (!file) return not_remembered(slot);
  TRY(file->guard());
  const Guarded guarded(*file);
  auto lines = read_slot_lines(*file);
  const auto line = std::find_if(lines.begin(), lines.end(),
                                 [&](const SlotLine& one) { return lasts(one, now()) && one.slot == slot.slot(); });
  if (line == lines.end()) return not_remembered(slot);
  const Participant known = runner_of(*line);
  TRY(write_slot_line(*file, static_cast<std::size_t>(line - lines.begin()), SlotLine()));
  return known;
}

Result<std::vector<Swept>> SlotMemory::sweep(bool dry_run, Duration /*patience*/) {
  std::vector<Swept> swept;
  TRY_ASSIGN(const auto dir, context_.existing_directory());
  if (!dir) return swept;
  TRY_ASSIGN(const auto names, dir->list(".lock"));
  for (const std::string& file_name : names) {
    const auto file = LockFile::open_existing(*dir, file_name, {}, !dry_run);
    const bool there = file && *file;
    const auto got = there && !dry_run ? (*file)->try_guard() : Result<bool>(there);
    if (!got || !*got) continue;  // in use, or not ours: the next time
    const Guarded guarded(**file);
    if (const auto some = sweep_file(**file, dry_run, swept); !some) return some.error();
  }
  return swept;
}

Result<void> SlotMemory::sweep_file(const LockFile& file, bool dry_run, std::vector<Swept>& swept) {
  const auto lines = read_slot_lines(file);
  const auto key = LockName::parse(file.key().value_or(std::string()));
  bool any = false;
  for (const SlotLine& line : lines) {
    const auto slot = key && sound(line) && !lasts(line, now()) ? LockName::of_slot(*key, line.slot) : Error{};
    if (slot) swept.push_back({*slot, "the line of a slot that is not remembered"});
    any = any || !lasts(line, now());
  }
  return any && !dry_run ? sweep_slot_lines(file, lines, now()) : Result<void>();
}

/// As who_text(), which is for a keeper, the child of who takes the lock.
std::string who_text(const LocalContext& context, const LockSpec& spec) {
  constexpr char kUnit = '\x1f';
  std::string text = context.host + kUnit + std::to_string(getpid());
  if (!spec.command.empty()) text += ":" + spec.command;
  return text + kUnit + user_name(context.uid) + kUnit + spec.reason;
}

}  // namespace

std::unique_ptr<KeyMemory> slot_memory(LocalContext& context) { return std::make_unique<SlotMemory>(context); }

std::unique_ptr<LockSession> slot_session(LocalContext& context, const LockSpec& spec) {
  return without_keeper(
      slot_lock(slot_memory(context), spec, who_text(context, spec), context.settings.store, context.runtime));
}

}  // namespace dlock::local
