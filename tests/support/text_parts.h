// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace dlock::testing {

/// Takes what stands before `end` off `text`, and that byte. What is returned has no blanks around it.
std::string_view take_until(std::string_view& text, char end);

/// Throws std::runtime_error if it cannot be read.
std::string text_of_file(const std::string& path);

}  // namespace dlock::testing
