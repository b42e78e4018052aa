// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/entries.h"

#include <algorithm>
#include <charconv>

#include "backends/zookeeper/lock/store.h"
#include "backends/zookeeper/session/errors.h"

namespace dlock::zookeeper {
namespace {

/// The directory can be removed by the server between our making it and our using it.
constexpr int kEntryTries = 5;

/// What the names of a hold's entries begin with.
std::string entry_prefix(FencingToken token) {
  char text[17] = {};
  const auto [end, error] = std::to_chars(text, text + sizeof text, token.value(), 16);
  return std::string(text, end) + "-";
}

Change set_first_node(const Hold& hold, const std::string& data, int version) {
  return {Change::Kind::kSet, hold.paths.front(), data, NodeKind::kPersistent, version};
}

Change removal_of(const std::string& path, int version = -1) {
  return {Change::Kind::kDelete, path, "", NodeKind::kPersistent, version};
}

Error not_noted(const Calls& calls, const Hold& hold, Code code) {
  return unexpected(ErrorCode::kUnavailable, code, calls.store(), "does not note who enters " + hold.paths.front());
}

bool says_ended(const std::string& data) {
  const auto ours = decode_record(data);
  return ours && ours->ended;
}

Result<std::vector<std::string>> list_entry_names(Calls& calls, const std::string& directory, bool watch,
                                                  TimePoint until, Control* control) {
  auto list = calls.call_until({.kind = Request::Kind::kList, .path = directory, .watch = watch}, until, control);
  if (!list) return list.error();
  return std::move(list->children);  // none of a directory that is not there
}

}  // namespace

std::string entries_directory(const std::string& root, const LockName& name) {
  return own_directory(root, "entries") + "/" + one_part(name);
}

std::string new_entry(const Hold& hold) { return hold.entries + "/" + entry_prefix(hold.token) + Guid::random().hex(); }

Result<HoldSeen> read_hold(Calls& calls, const Hold& hold, bool watch, TimePoint until, Control* control) {
  const std::string& path = hold.paths.front();
  const auto synced = calls.call_until({.kind = Request::Kind::kSync, .path = path}, until, control);
  if (!synced) return synced.error();
  auto first = calls.call_until({.kind = Request::Kind::kRead, .path = path}, until, control);
  if (!first) return first.error();
  auto entries = list_entry_names(calls, hold.entries, watch, until, control);
  if (!entries) return entries.error();
  std::erase_if(*entries,
                [prefix = entry_prefix(hold.token)](const std::string& name) { return !name.starts_with(prefix); });
  HoldSeen seen;
  seen.entries = std::move(*entries);
  seen.is_there = first->code == Code::kOk && static_cast<std::uint64_t>(first->stat.czxid) == hold.token.value();
  if (!seen.is_there) return seen;
  seen.data = std::move(first->data);
  seen.version = first->stat.version;
  return seen;
}

Result<bool> enter_hold(Calls& calls, const Hold& hold, const std::string& data, int version, const std::string& entry,
                        const std::string& who, TimePoint until, Control* control) {
  const Request entering{
      .kind = Request::Kind::kChange,
      .changes = {{Change::Kind::kCreate, entry, who, NodeKind::kEphemeral, -1}, set_first_node(hold, data, version)}};
  Code code = Code::kOk;
  for (int i = 0; i < kEntryTries; ++i) {
    const auto answer = calls.call(entering, until, control);
    if (!answer) return answer.error();
    code = answer->code;
    if (code == Code::kOk || code == Code::kNodeExists) return true;  // there already: an answer was lost
    const bool of_hold = answer->changed.size() > 1 && answer->changed[1].code == code;
    if (code == Code::kBadVersion || (code == Code::kNoNode && of_hold)) return false;
    if (code != Code::kNoNode) break;
    const auto made = make_directory(calls, hold.entries, false, kDirectoryData, until, control);
    if (!made) return made.error();
  }
  return not_noted(calls, hold, code);
}

Result<bool> mark_ended(Calls& calls, const Hold& hold, const std::string& data, int version, TimePoint until) {
  const auto answer = calls.call_until(
      {.kind = Request::Kind::kChange, .changes = {set_first_node(hold, data, version)}}, until, nullptr);
  if (!answer) return answer.error();
  if (answer->code == Code::kOk) return true;
  if (answer->code == Code::kBadVersion || answer->code == Code::kNoNode) return false;
  return not_noted(calls, hold, answer->code);
}

Result<void> leave_hold(Calls& calls, const Hold& hold, const std::string& entry, TimePoint until) {
  const auto change = [&](std::vector<Change> changes) {
    return calls.call({.kind = Request::Kind::kChange, .changes = std::move(changes)}, until, nullptr);
  };
  bool unanswered = false;
  for (int incomplete = 0;;) {
    const auto seen = read_hold(calls, hold, false, until, nullptr);
    if (!seen) return seen.error();
    if (!seen->is_there || incomplete > 1) {
      if (unanswered && !seen->is_there) return {};
      const auto removed = change({removal_of(entry)});
      if (!removed) return removed.error();
      return Error{ErrorCode::kLost, "it was deleted on " + calls.store()};
    }
    const auto own = std::find(seen->entries.begin(), seen->entries.end(), base_of(entry));
    if (own == seen->entries.end()) return {};
    std::vector<Change> changes{removal_of(entry)};
    if (seen->entries.size() == 1 && says_ended(seen->data)) {
      for (const std::string& path : hold.paths) changes.push_back(removal_of(path));
      changes[1].version = seen->version;
    } else {
      changes.push_back(set_first_node(hold, seen->data, seen->version));
    }
    const auto answer = change(std::move(changes));
    unanswered = !answer;
    // Ours goes with our session, and who has the hold looks after it then.
    if (!answer && answer.error().code == ErrorCode::kDenied) return {};
    if (!answer && (answer.error().code != ErrorCode::kUnavailable || calls.clock().now() >= until)) {
      return answer.error();
    }
    if (!answer) continue;
    if (answer->code == Code::kOk) return {};
    if (answer->code == Code::kNoNode) ++incomplete;
    else if (answer->code != Code::kBadVersion) return not_noted(calls, hold, answer->code);
  }
}

Result<void> count_entries(Calls& calls, const std::string& entries, std::vector<Present>& present, TimePoint until,
                           Control* control) {
  const auto entered = [](const Present& one) {
    return one.holds && one.ours && one.stat.version > (one.ours->slot.empty() ? 0 : 1);
  };
  if (std::none_of(present.begin(), present.end(), entered)) return {};
  const auto names = list_entry_names(calls, entries, false, until, control);
  if (!names) return names.error();
  for (Present& one : present) {
    if (!entered(one)) continue;
    const auto inside = std::count_if(
        names->begin(), names->end(),
        [prefix = entry_prefix(one.participant.token)](const std::string& name) { return name.starts_with(prefix); });
    one.participant.count = std::max(1, static_cast<int>(inside) + (one.ours->ended ? 0 : 1));
  }
  return {};
}

}  // namespace dlock::zookeeper
