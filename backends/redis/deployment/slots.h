// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace dlock::redis {

/// A cluster's slots are 0 .. kSlots - 1.
inline constexpr std::uint16_t kSlots = 16384;

/// The part of `key` that decides its slot: what stands between its first { and the next }, or all of it if that is
/// nothing.
std::string_view hash_tag(std::string_view key);

/// The slot of `key` in a cluster. Total: every byte string has one.
std::uint16_t key_slot(std::string_view key);

}  // namespace dlock::redis
