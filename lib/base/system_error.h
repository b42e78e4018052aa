// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lib/base/result.h"

namespace dlock {

/// The text of an errno value ("No such file or directory", without a full stop).
std::string errno_text(int errnum);

/// `what`: the errno text. The code is Denied for EACCES, EPERM and EROFS, else System.
Error system_error(std::string_view what, int errnum);

}  // namespace dlock
