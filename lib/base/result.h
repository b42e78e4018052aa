// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace dlock {

/// Kinds of error, by what the caller can do. Closed: cmd/show/exit_status.h maps each one to an exit status.
enum class ErrorCode {
  kBusy,           ///< the store named another holder
  kUnavailable,    ///< the store did not answer: the outcome is unknown (but see Error::undone); or it may do it later
  kLost,           ///< no longer held; or a token or owner that is no longer valid
  kOverheld,       ///< held for longer than --max-hold: the command was ended
  kInvalid,        ///< the caller's input is wrong (usage)
  kMisconfigured,  ///< a configuration file, a URL or a directory is not fit to be used
  kUnsupported,    ///< this backend cannot do that, or is not installed
  kDenied,         ///< permission or authentication refused
  kConflict,       ///< callers of one key disagree (permits), or it changed in between
  kShort,          ///< the stock has too little, and nothing that may still come back would be enough
  kRepeated,       ///< it was done before, under the same request id; nothing is left to do
  kCancelled,      ///< given up on request
  kSystem,         ///< the operating system refused (fork, memory, disk)
  kInternal,       ///< a bug in dlock
};

/// How kUnavailable came about.
enum class Outage {
  kSilent,   ///< no answer
  kRefused,  ///< a server has said it
  kCrowded,  ///< the store is there, but others write to it all the time
};

/// An error as people read it: `message` says what happened and why, naming server, key and the real value; `next` says
/// what to do now (may be empty). Neither ends in a full stop, neither holds a secret.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string next = {};
  bool undone = false;              ///< of kUnavailable: nothing was done, and nothing that is on its way will be
  std::int64_t left = 0;            ///< of kShort: how much there is
  Outage outage = Outage::kSilent;  ///< as far as its store tells that
};

/// A value or an Error. Contention and dead servers are ordinary values; exceptions are for broken promises of ours.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }

  T& operator*() & { return value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->value(); }

  const Error& error() const& {
    assert(state_.index() == 1);
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    assert(state_.index() == 1);
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  T& value() {
    assert(state_.index() == 0);
    return *std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : failed_(true), error_(std::move(error)) {}

  explicit operator bool() const { return !failed_; }
  const Error& error() const& {
    assert(failed_);
    return error_;
  }
  Error&& error() && {
    assert(failed_);
    return std::move(error_);
  }

 private:
  bool failed_ = false;
  Error error_;
};

}  // namespace dlock

/// TRY(call): leaves the function with the error of `call`, a Result. TRY_ASSIGN(auto x, call): x is its value
/// otherwise. Statements of their own, never the body of an `if`.
#define TRY(...)                                                             \
  do {                                                                       \
    if (auto tried = (__VA_ARGS__); !tried) return std::move(tried).error(); \
  } while (false)
#define TRY_ASSIGN(declared, ...) DLOCK_TRY_ASSIGN(DLOCK_TRY_NAME(tried_in_line_, __LINE__), declared, __VA_ARGS__)
#define DLOCK_TRY_ASSIGN(tried, declared, ...) \
  auto tried = (__VA_ARGS__);                  \
  if (!tried) return std::move(tried).error(); \
  declared = *std::move(tried)
#define DLOCK_TRY_NAME(word, line) DLOCK_TRY_JOINED(word, line)
#define DLOCK_TRY_JOINED(word, line) word##line
