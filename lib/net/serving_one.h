// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/keeper/call_limit.h"

namespace dlock {

/// What is left of `limit`, for the next of `left` that have to share it.
CallLimit share_of(const CallLimit& limit, TimePoint now, std::size_t left);

/// Tries `count` servers, one at a time, from `first` on, each with its share of the time. The one that serves;
/// Cancelled; else what each has said, with the first error that is no outage if there is one. An outage is undone, and
/// silent if one of them was.
Result<std::size_t> first_that_serves(std::size_t first, std::size_t count, Clock& clock, const CallLimit& limit,
                                      const std::function<Result<void>(std::size_t, const CallLimit&)>& try_one);

/// Of `count` servers the one that serves, and the connection to it. Who was the one stays the first to be asked.
template <typename Connection>
class ServingOne {
 public:
  using Open = std::function<Result<std::unique_ptr<Connection>>(std::size_t, const CallLimit&)>;
  ServingOne(std::size_t count, Clock& clock) : count_(count), clock_(clock) {}

  /// The present connection if it is usable, else a new one. Errors as of first_that_serves().
  Result<Connection*> connect(const CallLimit& limit, const Open& open) {
    if (connection_ && connection_->usable()) return connection_.get();
    if (std::exchange(connection_, nullptr)) ++generation_;
    const auto try_one = [&](std::size_t index, const CallLimit& share) -> Result<void> {
      TRY_ASSIGN(connection_, open(index, share));
      return {};
    };
    TRY_ASSIGN(at_, first_that_serves(at_, count_, clock_, limit, try_one));
    ++generation_;
    return connection_.get();
  }
  void close() { connection_.reset(); }
  /// The server takes no changes: the next connect() begins with the one after it.
  void pass_over() {
    close();
    at_ = (at_ + 1) % count_;
  }

  Connection* current() const { return connection_.get(); }  ///< nullptr: none; it may be broken
  int generation() const { return generation_; }  ///< of the present connection; another one if that was found broken
  std::size_t at() const { return at_; }          ///< the server of the present or last one

 private:
  const std::size_t count_;
  Clock& clock_;
  std::unique_ptr<Connection> connection_;
  std::size_t at_ = 0;
  int generation_ = 0;
};

}  // namespace dlock
