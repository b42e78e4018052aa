// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dlock::mysql {

/// Whether `said`, the bytes that have come so far of a server's answer to a statement or a batch, is the whole answer:
/// for each statement "done", an error, or rows and their end, and the last of these announces nothing further. Then
/// the reader does not wait any more.
bool is_whole_answer(std::string_view said);

}  // namespace dlock::mysql
