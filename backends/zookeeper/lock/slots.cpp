// SPDX-License-Identifier: Apache-2.0
#include "backends/zookeeper/lock/store.h"

#include <optional>
#include <vector>

#include "backends/zookeeper/lock/names.h"
#include "backends/zookeeper/lock/record.h"
#include "backends/zookeeper/session/errors.h"
#include "lib/lock/slots.h"

namespace dlock::zookeeper {
namespace {

/// One choice, from its first look to its transaction.
class Choice {
 public:
  Choice(Calls& calls, const std::string& directory, const std::string& own, const LockSpec& spec, TimePoint until,
         Control* control)
      : calls_(calls), directory_(directory), own_(own), spec_(spec), until_(until), control_(control) {}

  /// nullopt: another has chosen since.
  Result<std::optional<std::string>> attempt() {
    TRY(read_directory());
    HolderRecord record = decode_record(node_.data).value_or(record_of(spec_));
    if (!record.slot.empty()) return std::optional(std::move(record.slot));
    TRY_ASSIGN(const auto taken, taken_by_others());
    record.slot = free_slot(spec_.slots, spec_.permits, taken);
    return write(record);
  }

 private:
  /// The directory's version before its children: who took a slot up to that version is among them. The server answers
  /// in the order in which it was asked.
  Result<void> read_directory() {
    auto answers = calls_.call_all({ask_data(directory_), ask_data(own_), ask_list(directory_)}, until_, control_);
    Result<void> read;
    auto got_next = answers.begin();
    for (Answer* const answer : {&above_, &node_, &list_}) {
      auto& got = *got_next++;
      if (!got) read = got.error();
      else *answer = std::move(*got);
      if (read && answer->code != Code::kOk) read = refused(answer->code);
    }
    return read;
  }

  Result<std::vector<std::string>> taken_by_others() {
    std::vector<Request> requests;
    for (const std::string& name : list_.children) {
      if (name != base_of(own_)) requests.push_back(ask_data(directory_ + "/" + name));
    }
    std::vector<std::string> taken;
    for (const Result<Answer>& answer : calls_.call_all(requests, until_, control_)) {
      if (!answer) return answer.error();
      if (const auto record = decode_record(answer->data)) taken.push_back(record->slot);
    }
    return taken;
  }

  Result<std::optional<std::string>> write(const HolderRecord& record) {
    TRY_ASSIGN(const auto answer, calls_.call(ask_change({set_node(directory_, above_.data, above_.stat.version),
                                                          set_node(own_, encode(record), node_.stat.version)}),
                                              until_, control_));
    if (answer.code == Code::kBadVersion) return std::optional<std::string>();
    if (answer.code != Code::kOk) return refused(answer.code);
    return std::optional(record.slot);
  }

  Error refused(Code code) const {
    if (code == Code::kNoNode)
      return {ErrorCode::kLost, "the lock was deleted on " + calls_.store() + " while it was granted"};
    return unexpected(ErrorCode::kUnavailable, code, calls_.store(), "does not note a slot in " + directory_);
  }

  Calls& calls_;
  const std::string& directory_;
  const std::string& own_;
  const LockSpec& spec_;
  const TimePoint until_;
  Control* const control_;
  Answer above_;
  Answer node_;
  Answer list_;
};

}  // namespace

Result<std::string> take_slot(Calls& calls, const std::string& directory, const std::string& own, const LockSpec& spec,
                              TimePoint until, Control* control) {
  Choice choice(calls, directory, own, spec, until, control);
  while (true) {
    TRY_ASSIGN(auto taken, choice.attempt());
    if (taken) return std::move(*taken);
    if (calls.clock().now() >= until) {
      return Error{ErrorCode::kUnavailable, "others are always quicker to take a slot in " + directory};
    }
  }
}

}  // namespace dlock::zookeeper
