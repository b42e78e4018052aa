// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dlock::mysql {

/// `said`, all that has come of a server's answer to a statement or a batch, is the whole of it: for each statement
/// "done", an error, or rows with their end, of which the last has nothing behind it. Who reads it waits for nothing
/// more.
bool is_whole_answer(std::string_view said);

}  // namespace dlock::mysql
