// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "backends/redis/wire/connection.h"
#include "lib/base/clock.h"
#include "lib/base/result.h"
#include "lib/keeper/control.h"

namespace dlock::redis {

/// The connections of one deployment, one for each endpoint that it has used. A Connection keeps its address as long as
/// this object, even when it is closed. Single-threaded.
class Connections {
 public:
  using Settings = std::function<Result<ConnectionSettings>(const Endpoint&)>;

  explicit Connections(Settings settings) : settings_(std::move(settings)) {}

  /// The connection to `endpoint`, made (closed) if there is none.
  Result<Connection*> to(const Endpoint& endpoint);
  Result<std::vector<Connection*>> to_all(const std::vector<Endpoint>& endpoints);
  /// nullptr if there is none.
  Connection* find(const Endpoint& endpoint) const;
  void close_all();

 private:
  Settings settings_;
  std::map<Endpoint, std::unique_ptr<Connection>> all_;
};

/// Waits until `until`. Cancelled if `control` (may be nullptr) wants an end.
Result<void> pause(Clock& clock, TimePoint until, Control* control);

/// `error`, with a message that the outcome is unknown, because a request may have been sent.
Error outcome_unknown(Error error);

/// Whether asking again can help, because the server or another one may answer in a moment.
bool is_passing(const Error& error);

}  // namespace dlock::redis
