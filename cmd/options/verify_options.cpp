// SPDX-License-Identifier: Apache-2.0
#include "cmd/options/verify_options.h"

#include <limits>

#include "cmd/options/option_values.h"

namespace dlock {
namespace {

Result<std::string> parse_fault_list(std::string_view text) {
  if (!text.empty()) return std::string(text);
  return Error{ErrorCode::kInvalid, "the list is empty", "for no faults write: --faults none"};
}

Result<std::string> parse_hook(std::string_view text) {
  if (text.find_first_not_of(" \t\n") != std::string_view::npos) return std::string(text);
  return Error{ErrorCode::kInvalid, "the command is empty", "name a command, or leave the option out"};
}

}  // namespace

Result<void> read_verify_options(const OptionReader& from, Options& options) {
  using namespace std::chrono_literals;
  constexpr Duration kVerifyTtl = 3s;
  constexpr int kMostWorkers = 1000;
  VerifyOptions& verify = options.verify;
  // What a file says about other locks would make these faults rare.
  if (!from.given_by_flag(OptionId::kTtl)) options.ttl = kVerifyTtl;
  if (auto read = from.read(OptionId::kDuration, 1s, verify.duration); !read) return read;
  if (auto read = from.read(OptionId::kWorkers, 2, kMostWorkers, verify.workers); !read) return read;
  if (auto read = from.read_with(OptionId::kFaults, parse_fault_list, verify.faults); !read) return read;
  int seed = -1;
  if (auto read = from.read(OptionId::kSeed, 0, std::numeric_limits<int>::max(), seed); !read) return read;
  if (seed >= 0) verify.seed = static_cast<std::uint64_t>(seed);
  if (auto read = from.read_with(OptionId::kSvgFile, parse_file, verify.svg); !read) return read;
  return from.read_with(OptionId::kHook, parse_hook, verify.hook);
}

}  // namespace dlock
