// SPDX-License-Identifier: Apache-2.0
#include "backends/mysql/bound/entries.h"

#include <algorithm>
#include <set>

#include "backends/mysql/connection/sql_text.h"
#include "lib/base/text.h"

namespace dlock::mysql {
namespace {

constexpr char kAt = '@';  ///< between the owner and its connection

std::string entry_text(const std::string& owner, std::uint64_t connection) {
  return owner + kAt + std::to_string(connection);
}

bool is_entry_of(const std::string& entry, const std::string& owner) { return entry.starts_with(owner + kAt); }

/// 0: of whose connection it is.
std::uint64_t connection_of(const std::string& entry) {
  const std::size_t at = entry.find(kAt);
  return at == std::string::npos ? 0 : leading_number<std::uint64_t>(std::string_view(entry).substr(at + 1));
}

}  // namespace

BoundEntries::BoundEntries(Servers& servers, Clock& clock, Strategy strategy, const LockName& name, std::string owner,
                           std::uint64_t token)
    : servers_(servers),
      clock_(clock),
      record_(servers, strategy, name, LeaseStore::From::kAny),
      owner_(std::move(owner)),
      token_(token) {}

LeaseHolder* BoundEntries::find(LeaseRow& row) const {
  const auto found = std::find_if(row.holders.begin(), row.holders.end(), [this](const LeaseHolder& holder) {
    return holder.owner == owner_ && holder.token == token_ && !holder.entries.empty();
  });
  return found == row.holders.end() ? nullptr : &*found;
}

Result<bool> BoundEntries::enter(const std::string& entry, TimePoint until, Control* control) {
  while (true) {
    const auto reading = record_.read(false, until, control);
    if (!reading) return reading.error();
    LeaseRow next = reading->row;
    LeaseHolder* holder = find(next);
    if (holder == nullptr) return false;
    const std::string text = entry_text(entry, reading->connection);
    if (std::find(holder->entries.begin(), holder->entries.end(), text) != holder->entries.end()) return true;
    std::erase_if(holder->entries, [&entry](const std::string& one) { return is_entry_of(one, entry); });
    holder->entries.push_back(text);
    const auto written = record_.change(reading->row, next, until, control);
    if (!written) return written.error();
    if (*written == Written::kYes) return true;
  }
}

/// After an answer that was lost the record is read: a hold that is gone then was freed, or will be by whose connection
/// it is.
Result<BoundEntries::Left> BoundEntries::leave(const std::string& entry, TimePoint until) {
  bool unanswered = false;
  while (true) {
    const auto reading = record_.read(false, until, nullptr);
    if (!reading) return reading.error();
    LeaseRow next = reading->row;
    LeaseHolder* holder = find(next);
    const auto inside = [&entry](const std::string& one) { return is_entry_of(one, entry); };
    if (holder == nullptr || std::erase_if(holder->entries, inside) == 0) {
      return unanswered ? Left::kOthersStay : Left::kGone;
    }
    const bool last = holder->entries.empty();
    if (last) next.holders.clear();
    const auto written = record_.change(reading->row, next, until, nullptr);
    unanswered = !written;
    if (!written && (written.error().code != ErrorCode::kUnavailable || clock_.now() >= until)) return written.error();
    if (written && *written == Written::kYes) return last ? Left::kLast : Left::kOthersStay;
  }
}

Result<void> BoundEntries::forget_dead(LeaseHolder& holder, TimePoint until) {
  std::string ids;
  for (const std::string& entry : holder.entries) {
    ids += (ids.empty() ? "" : ",") + std::to_string(connection_of(entry));
  }
  if (ids.empty()) return {};
  const auto live = servers_.run("SELECT ID FROM information_schema.PROCESSLIST WHERE ID IN (" + ids + ")", until);
  if (!live) return live.error();
  std::set<std::uint64_t> sessions;
  for (const Row& row : live->rows)
    sessions.insert(leading_number<std::uint64_t>(row.empty() ? "" : row[0].value_or("")));
  std::erase_if(holder.entries, [&](const std::string& entry) { return !sessions.contains(connection_of(entry)); });
  return {};
}

Result<bool> BoundEntries::end(TimePoint until) {
  while (true) {
    const auto reading = record_.read(false, until, nullptr);
    if (!reading) return reading.error();
    LeaseRow next = reading->row;
    LeaseHolder* holder = find(next);
    if (holder == nullptr) return false;
    std::erase(holder->entries, owner_);
    if (const auto known = forget_dead(*holder, until); !known) return known.error();
    const bool entered = !holder->entries.empty();
    if (entered && next == reading->row) return true;
    if (!entered) next.holders.clear();
    const auto written = record_.change(reading->row, next, until, nullptr);
    if (written && *written == Written::kYes) return entered;
    // Where the server takes no changes, nobody enters behind what was read.
    if (!written && !entered && !record_.unanswered()) return false;
    if (!written) return written.error();
  }
}

}  // namespace dlock::mysql
