// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace dlock::mysql {

/// `said`, all that has come of a server's answer to one statement, is the whole of it: "done", an error, or rows with
/// their end. Who reads it waits for nothing more.
bool is_whole_answer(std::string_view said);

}  // namespace dlock::mysql
