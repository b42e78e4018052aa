// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/result.h"
#include "lib/base/time.h"
#include "lib/keeper/call_limit.h"
#include "lib/lock/lock_name.h"

namespace dlock {

/// The rows of one purpose. Those of two spaces never meet, whatever their groups are called.
struct RowSpace {
  std::string_view name;  ///< a word of small letters
  /// Rows whose keys begin so are many: list() goes through all of them, and a store may forget one that was not
  /// written for `kept`.
  std::string_view many = {};
  Duration kept{0};
  /// What a read shows is confirmed as a commit is, where a store confirms these: a failover does not undo it.
  bool sure_reads = true;
};

class RowQueue;

/// THE PORT of a store that can keep rows: small texts under keys, in groups; what is read and changed together is one
/// group (one stock, one lock). What follows from rows is written once, in lib. tests/conformance/rows_test.cpp has a
/// case for each sentence here. Single-threaded.
///
/// A row's version is the number of the commit that wrote it. Unavailable: it is not known whether a commit has
/// happened (Error::undone: it has not, and will not); a row that was written by it answers that. A store that reads
/// and refuses to write is Unavailable or Denied, never a row of another version.
class Rows {
 public:
  struct Row {
    std::string text = {};
    std::uint64_t version = 0;    ///< 0: there is none
    std::int64_t written_us = 0;  ///< by the store's clock
  };
  struct Look {
    std::vector<Row> rows;    ///< one for each key, all of one moment within the call
    std::int64_t now_us = 0;  ///< the store's clock at that moment, or less: what is over by it is over
  };

  struct Change {
    enum class Kind : char {
      kPut = '=',     ///< text, at `version` (0: there must be none)
      kRemove = '-',  ///< at `version`
      kCheck = '?',   ///< that it has `version` (0: that there is none)
      kAdd = '+',     ///< `add` to the numbers that the row's text is, at any version; it must be there
      kClear = '#',   ///< all rows of the group are gone; no key
      kFill = '_',    ///< text, where no row is, or one without text, at any version
      kBefore = '<',  ///< that the store's clock is before `version`; no key. Unsupported where a store does not know
                      ///< its clock when it commits
      kTell = '!',    ///< who listens to `key` is told, with the commit, if this store tells anybody; no row
    };
    Kind kind = Kind::kPut;
    std::string key = {};
    std::uint64_t version = 0;
    std::string text = {};
    std::vector<std::int64_t> add = {};
  };
  /// What is changed together, all or nothing; no key of a row twice, kClear beside checks alone, and something to
  /// change or to check beside kBefore and kTell.
  using Commit = std::vector<Change>;
  /// The number of the commit, larger than those of all commits before it in this group (those of one call may have the
  /// same), and where the store has no better order at least its clock's microseconds; 0: it was refused, and nothing
  /// was changed, because a row has another version, or a number would become negative, or more than kMostNumber.
  using Number = std::uint64_t;

  /// What is to be told of a commit: its number, or only that it was made, which may cost less; then any number tells
  /// it.
  enum class Tell { kNumber, kMade };

  /// What a store counts exactly, whatever it counts with.
  static constexpr std::int64_t kMostNumber = std::int64_t{1} << 53;
  /// Numbers of a row, and changes of one commit, at most.
  static constexpr std::size_t kMostNumbers = 4;

  virtual ~Rows() = default;

  /// The redacted URL.
  virtual const std::string& store() const = 0;
  /// The endpoint that answered last.
  virtual std::string server() const { return store(); }

  virtual Result<Look> read(const LockName& group, std::span<const std::string> keys, const CallLimit& limit) = 0;
  /// The keys of a group that begin with `prefix`, a word and '/'; one that comes or goes during the call may be
  /// missing. read() after it has a clock that is not old.
  virtual Result<std::vector<std::string>> list(const LockName& group, const std::string& prefix,
                                                const CallLimit& limit) = 0;
  /// The groups that have rows, in canonical order.
  virtual Result<std::vector<LockName>> groups(const CallLimit& limit) = 0;

  struct Survey {
    std::vector<std::pair<LockName, Row>> rows;  ///< in canonical order of their groups
    std::int64_t now_us = 0;                     ///< as of a Look
  };
  /// The rows `key` of all groups which have one: those with a text, or those without.
  enum class Which { kFilled, kEmpty };
  virtual Result<Survey> survey(const std::string& key, Which which, const CallLimit& limit);

  /// Many commits, in their order, each by itself: what one is refused changes nothing for its neighbours, and a dead
  /// client leaves a beginning of them done. One answer each. After an Error nothing more is begun, and those behind it
  /// have it too. A store does in one go what it can. What makes no new row is done even where memory is full.
  virtual std::vector<Result<Number>> commit_each(const LockName& group, std::span<const Commit> commits, Tell tell,
                                                  const CallLimit& limit) = 0;
  Result<Number> commit(const LockName& group, const Commit& one, const CallLimit& limit) {
    return std::move(commit_each(group, {&one, 1}, Tell::kNumber, limit).front());
  }

  /// The queue of the store itself (row_queue.h), if it has one beside these rows.
  virtual RowQueue* queue() { return nullptr; }

  // How who waits is woken. A store that tells nobody leaves it at this; then who waits looks now and then.

  /// From its answer on a kTell of `key` in `group` is heard here; it replaces what was listened to before. False: this
  /// store, or what stands before it (a pooler), tells nobody.
  virtual Result<bool> listen(const LockName& /*group*/, const std::string& /*key*/, const CallLimit& /*limit*/) {
    return false;
  }
  /// Adds the descriptors that become ready when something may be heard.
  virtual void add_interest(std::vector<pollfd>& /*fds*/) const {}
  /// Whether something was told since the last call, or the connection that would have told it has ended; after that
  /// end nothing is heard before another listen(). Sends nothing.
  virtual bool heard() { return false; }

  /// A store may have a queue of its own for each row that is filled (kFill) and told to be empty (kTell).
  struct RowTurn {
    bool queues = false;                  ///< there are such queues
    std::optional<std::size_t> key = {};  ///< whose turn has come to us
  };
  /// The turn of the first of `keys` that nobody holds or waits for; if there is none, that of the last one, within
  /// `wait`. It is ours until we fill the row and tell it to be empty, a commit of ours is refused, or the connection
  /// ends. It promises nothing: the row decides.
  virtual Result<RowTurn> take_turn(const LockName& /*group*/, std::span<const std::string> /*keys*/, Duration /*wait*/,
                                    const CallLimit& /*limit*/) {
    return RowTurn{};
  }

  /// Ends the connection, and what is listened to. The next call makes another one.
  virtual void close() {}
};

/// What a commit fails with whose rows others have changed before each try.
Error crowd_at(const std::string& store, const LockName& group);

/// Whether a commit may be made where its group has no row.
bool relies_on_nothing(const Rows::Commit& commit);

/// "5 0 -2": the numbers of a row, or what is added to them, as text; and back, as many as there are.
std::string numbers_text(std::span<const std::int64_t> numbers);
/// False unless `text` is just so many numbers, with one blank between two.
bool read_numbers(std::string_view text, std::span<std::int64_t> numbers);
/// How many they are; 0: `text` is none.
std::size_t count_numbers(std::string_view text);
/// `text` with `add` added; empty: it is not such a row, or one of them would not be from 0 to Rows::kMostNumber.
std::string added_numbers(std::string_view text, std::span<const std::int64_t> add);

}  // namespace dlock
