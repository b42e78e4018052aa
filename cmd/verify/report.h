// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cmd/show/output.h"
#include "cmd/verify/checks.h"
#include "cmd/verify/history.h"
#include "cmd/verify/schedule.h"
#include "lib/history/timeline.h"

namespace dlock {

/// All that a run of `dlock verify` found out, as verify_text() and verify_json() print it.
struct VerifyReport {
  std::string store;  ///< redacted URL
  std::uint64_t seed = 0;
  Duration took{0};
  Duration ttl{0};
  int workers = 0;
  std::vector<Judgement> judgements = {};
  std::vector<std::string> not_promised = {};  ///< "permits: this store has none"
  std::vector<std::string> not_tried = {};     ///< "cut, stall: ..."
  std::map<Fault, int> faults = {};            ///< how many of each
  int missed = 0;                              ///< Driven::missed
  std::size_t torn = 0;                        ///< lines of the history that could not be read
  bool interrupted = false;
  Gaps gaps = {};

  /// No promise was broken.
  bool held() const;
};

/// One page for people.
std::string verify_text(const VerifyReport& report, const Look& look);
/// dlock.verify/2, with its newline.
std::string verify_json(const VerifyReport& report);

/// The history as a picture (--svg): a lane for each worker, with the faults that it had, and one for the network and
/// the server. If a promise was broken, it has only the seconds around the first breach, which is marked.
Timeline picture_of(const VerifyHistory& history, const VerifyReport& report);

}  // namespace dlock
