// SPDX-License-Identifier: Apache-2.0
#include "lib/base/system_error.h"

#include <cerrno>
#include <cstring>

namespace dlock {

std::string errno_text(int errnum) {
  const char* text = strerrordesc_np(errnum);
  return text ? text : "error " + std::to_string(errnum);
}

namespace {

const char* remedy(int errnum) {
  switch (errnum) {
    case EAGAIN:  // of fork(2)
      return "run fewer processes, or allow more: ulimit -u, or pids.max of a container";
    case EMFILE:
      return "allow more open files: ulimit -n";
    case EFBIG:
      return "allow larger files: ulimit -f";
    case ENOSPC:
    case EDQUOT:
      return "make room on that disk";
    case EROFS:
      return "name a place that is not read-only";
    default:
      return "";
  }
}

}  // namespace

Error system_error(std::string_view what, int errnum) {
  const bool denied = errnum == EACCES || errnum == EPERM || errnum == EROFS;
  return {denied ? ErrorCode::kDenied : ErrorCode::kSystem, std::string(what) + ": " + errno_text(errnum),
          remedy(errnum)};
}

}  // namespace dlock
