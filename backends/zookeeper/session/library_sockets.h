// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace dlock::zookeeper {

// The descriptors of libzookeeper, which has no call that breaks a connection, and makes its sockets and pipes without
// close-on-exec. All others of ours have it, but for those that this process has been started with: what is left are
// the library's. Any thread may call these.

/// Notes the descriptors that this process has been started with; only the first call counts. To be called before the
/// library is.
void note_inherited_descriptors();

/// Breaks the library's connections to `servers` ("10.0.0.1:2181"), also those that are being made. Another session
/// with one of these servers has to connect again as well, which costs it nothing but time. False: there was none.
bool break_connections(const std::vector<std::string>& servers);

/// Has the library's descriptors closed when a program is executed.
void close_on_exec();

}  // namespace dlock::zookeeper
