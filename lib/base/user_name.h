// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace dlock {

/// The name that /etc/passwd has for `uid`, else its digits. Asks no name service: a static program has none.
std::string user_name(std::uint32_t uid);

}  // namespace dlock
