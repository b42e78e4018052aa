// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <termios.h>

#include <functional>
#include <optional>
#include <string>

#include "cmd/options/options.h"
#include "cmd/show/output.h"
#include "lib/base/runtime.h"
#include "lib/base/unique_fd.h"
#include "lib/lock/lock_admin.h"

namespace dlock {

/// The whole terminal for a while: alternate screen, no cursor, keys one by one without echo. Signals that end or
/// resize are blocked during that time and read from signals(), so that none of them leaves the terminal spoilt. ^Z is
/// off. The destructor gives everything back.
class Screen {
 public:
  Screen(Output& out, int input);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  int signals() const { return signals_.get(); }  ///< readable when next_signal() has one
  std::optional<int> next_signal();
  std::optional<char> next_key();  ///< call only when the input is readable; '\0' at its end

  /// Shows `text`, clipped to the height of the terminal. False if it does not take it.
  bool draw(const std::string& text);

 private:
  Output& out_;
  int input_;
  bool raw_ = false;
  termios before_{};
  sigset_t mask_before_{};
  UniqueFd signals_;
};

/// dlock inspect --watch without a terminal, or with --json: the locks that have changed, as one block whenever some
/// have; one that is gone is reported as free. Goes on until a signal, until there is no reader, or until the store
/// fails.
int watch_as_stream(const Options& options, LockAdmin& backend, const Runtime& runtime, Output& out);

/// The same for any content: `news` is what has changed since it was last asked, maybe nothing.
int watch_news(Duration interval, const std::function<Result<std::string>()>& news, const Runtime& runtime,
               Output& out);

/// Shows what `frame` returns on the alternate screen, asked again after each interval, until q, ^C (0) or another
/// signal; gives the terminal back as it was. Keys are read from `input`; -1: there is no keyboard. Blocks INT, TERM,
/// HUP, QUIT and WINCH while it runs.
int watch_screen(Duration interval, const std::function<std::string()>& frame, const Runtime& runtime, Output& out,
                 int input);

/// The dim line on top of a frame.
std::string watch_title(const std::string& store, const Runtime& runtime, const Look& look);

}  // namespace dlock
