// SPDX-License-Identifier: Apache-2.0
#include "cmd/show/progress.h"

#include "lib/base/human_text.h"
#include "lib/lock/lease.h"

namespace dlock {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFirstOnTerminal = 100ms;
constexpr Duration kFirstAnswer = 200ms;
constexpr Duration kRedraw = 500ms;
constexpr Duration kPlainAt[] = {1s, 30s, 2min, 10min};

std::string names(const Telling& telling) {
  std::string text;
  for (const LockName& key : telling.keys) text += (text.empty() ? "" : " ") + key.text();
  return text;
}

}  // namespace

Progress::Progress(const Telling& telling, const SupervisionPolicy& supervision, const Runtime& runtime)
    : telling_(telling),
      supervision_(supervision),
      runtime_(runtime),
      manner_(Manner::kPlain),
      started_(runtime.clock.now()),
      line_(runtime.log.fd()) {
  const Log::Style& style = runtime.log.style();
  const bool text = style.format == Log::Format::kText;
  if (telling.progress == When::kNever || style.quiet) manner_ = Manner::kNone;
  else if (text && TerminalLine::fits(runtime.log.fd())) manner_ = Manner::kTerminal;
  if (manner_ == Manner::kTerminal) next_ = started_ + kFirstOnTerminal;
  if (manner_ == Manner::kPlain) next_ = started_ + (telling.progress == When::kAlways ? 0s : kPlainAt[0]);
}

std::optional<TimePoint> Progress::wake_at() const { return next_; }

void Progress::asks(const std::string& server) {
  server_ = server;
  unanswered_ = 0;
  met_ = false;
  outage_.clear();
}

OwnWait Progress::own_wait(TimePoint now) const { return {now - started_, telling_.wait}; }

bool Progress::waiting(TimePoint now) {
  if (!next_ || now < *next_) return false;
  if (manner_ == Manner::kTerminal) {
    draw_silence(now);
    next_ = now + (unanswered_ == 0 && !met_ ? kFirstAnswer : kRedraw);
    ++unanswered_;
  } else {
    ++shown_;
    const bool more = shown_ < static_cast<int>(std::size(kPlainAt));
    next_ = more ? std::optional(started_ + kPlainAt[shown_]) : std::nullopt;
  }
  return true;
}

/// Text that others have written comes last, where it may be cut off.
void Progress::draw_silence(TimePoint now) {
  const bool silent = !server_.empty() && unanswered_ > (met_ ? 1 : 0);
  const std::string wait = own_wait_text(own_wait(now));
  if (!outage_.empty()) line_.draw(wait + " - " + printable(outage_));
  else if (silent) line_.draw("connecting to " + server_ + ", " + wait);
}

void Progress::unreached(const std::string& why, TimePoint now) {
  outage_ = why;
  if (manner_ == Manner::kTerminal) draw_silence(now);
  tell_of_outage(why + "; it is asked again until it answers", "unreached");
}

void Progress::reached() {
  outage_.clear();
  unanswered_ = 0;
  tell_of_outage("the store answers again", "reached");
}

void Progress::tell_of_outage(const std::string& what, const char* event) {
  if (manner_ != Manner::kPlain) return;
  runtime_.log.notice("waiting for " + names(telling_) + ": " + what, {event});
  announced_ = true;
}

void Progress::told_who(const LockState& state, TimePoint now) {
  unanswered_ = 0;
  met_ = true;
  outage_.clear();
  if (manner_ == Manner::kNone) return;
  const bool plain = manner_ == Manner::kPlain;
  const std::string lead = plain || telling_.keys.size() > 1 ? "waiting for " + state.name.text() : "";
  const std::string line = progress_line(state, this_process(), own_wait(now), runtime_.clock.wall(), lead);
  announced_ = announced_ || plain;
  if (plain) runtime_.log.notice(line, about_holder("waiting", state));
  else line_.draw(line);
}

void Progress::waited() { line_.wipe(); }

void Progress::granted(const SupervisorState& s) {
  const Duration wait = runtime_.clock.now() - started_;
  const bool drawn = manner_ == Manner::kTerminal && wait >= kPlainAt[0];
  if (!(announced_ || drawn)) return;
  waited();
  const std::string after = " after " + human_duration(wait);
  if (s.locks.empty()) runtime_.log.notice(names(telling_) + " is free" + after, {"free"});  // dlock wait
  else runtime_.log.notice("got " + names(telling_) + after, {"got"});
}

void Progress::warned(const std::string& warning) {
  waited();
  runtime_.log.warn(warning);
}

void Progress::lost(const SupervisorState& s, pid_t command) {
  std::string text = "LOST " + names(telling_) + ": ";
  if (s.deadline && !s.session_over && !s.said_lost) {
    const TimePoint sent = *s.deadline - s.lease + clock_drift(s.lease);
    text += "no renewal for " + human_duration(runtime_.clock.now() - sent) + " (" + s.lost_why + ")";
  } else {
    text += loss_text(s);
  }
  const bool running = s.command_alive && command > 0;
  const bool asked = s.said_lost && !s.session_over;  // held, and renewed, until the command is gone
  const std::string pid = std::to_string(command);
  std::string next;
  if (!running) {
    next = s.command_status           ? "the command had already ended; others may have held the lock before it did"
           : s.command_alive && asked ? "the lock is released now"                                   // dlock hold
           : s.command_alive ? "others may hold the lock now: anything that relies on it must stop"  // dlock hold
                             : "nothing was run";
  } else {
    switch (supervision_.on_lost.kind) {
      case OnLost::Kind::kTerm:
        text += "; sent TERM to pid " + pid + ", KILL follows in " +
                human_duration(fitting_kill_after(supervision_.kill_after, s.lease));
        break;
      case OnLost::Kind::kKill:
        text += "; sent KILL to pid " + pid;
        break;
      case OnLost::Kind::kSignal:
        text += "; sent " + signal_text(supervision_.on_lost.signal) + " to pid " + pid +
                " and its descendants, which go on " + (asked ? "until they end by themselves" : "unlocked");
        break;
    }
  }
  runtime_.log.error({ErrorCode::kLost, text, next});
}

void Progress::overheld(const SupervisorState& s, pid_t command) {
  std::string text = names(telling_) + " was held for " + human_duration(runtime_.clock.now() - s.granted_at) +
                     ", as long as --max-hold allows";
  if (command > 0) {
    text += "; sent TERM to pid " + std::to_string(command) + ", KILL follows in " +
            human_duration(fitting_kill_after(supervision_.kill_after, s.lease));
  }
  const char* const next = command > 0 ? "the lock is released when the command is gone" : "the lock is released now";
  runtime_.log.error({ErrorCode::kOverheld, text, next});
}

void Progress::release_unconfirmed(const std::string& why, const SupervisorState& s) {
  std::string text = "the release of " + names(telling_) + " could not be confirmed: " + why;
  if (s.deadline) {
    const Duration left = *s.deadline - runtime_.clock.now();
    text += left > 0s ? "; the lease ends by itself in " + human_duration(left) : "; the lease has ended by itself";
  }
  const bool may_be_sold = !telling_.ask_again.empty() && !s.lost && s.command_status.value_or(0) == 0;
  if (!may_be_sold) return runtime_.log.warn(text, {"release_unconfirmed"});
  const std::string next = "to find out whether it was sold, without selling it twice: " + telling_.ask_again;
  runtime_.log.error({ErrorCode::kUnavailable, text, next}, {"release_unconfirmed"});
}

std::string loss_text(const SupervisorState& s) { return s.revoked.empty() ? s.lost_why : revoked_by(s.revoked); }

}  // namespace dlock
