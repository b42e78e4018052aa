// SPDX-License-Identifier: Apache-2.0
#include "lib/keeper/supervisor_link.h"

#include <sys/socket.h>

#include <cerrno>

#include "lib/base/packets.h"
#include "lib/base/text.h"
#include "lib/keeper/hold_socket.h"
#include "lib/lock/lock_errors.h"

namespace dlock {
namespace {

template <typename Number>
std::optional<Number> number_of(const Message& message, const char* field, Number least = 1) {
  const std::string* text = message.find(field);
  const auto number = text ? whole_number<Number>(*text) : std::nullopt;
  return number && *number >= least ? number : std::nullopt;
}

bool is_of_the_moment(const SessionEvent& event) {
  return is_of_wait(event) || std::holds_alternative<Unrenewed>(event);
}

}  // namespace

void SupervisorLink::add_interest(std::vector<pollfd>& fds) const {
  const short events = has_unsaid() ? POLLIN | POLLOUT : POLLIN;
  if (socket_.valid()) fds.push_back({socket_.get(), events, 0});
}

bool SupervisorLink::stop_requested() {
  receive();
  return is_stopped();
}

bool SupervisorLink::take_who() {
  receive();
  return std::exchange(who_, false);
}

Result<void> Control::revoke(const LockState& shown, const std::string& /*by*/, TimePoint /*until*/) {
  return cannot_be_asked(shown.name, "this program takes locks, and asks nobody");
}

Result<void> SupervisorLink::revoke(const LockState& shown, const std::string& by, TimePoint until) {
  return ask_ ? ask_(shown, by, until) : Control::revoke(shown, by, until);
}

void SupervisorLink::tell(const SessionEvent& event) {
  if (!socket_.valid()) return;
  std::string packet = encode(event_message(event));
  if (std::holds_alternative<Renewed>(event)) renewed(std::move(packet));
  else say(std::move(packet), is_of_the_moment(event));
}

void SupervisorLink::say(std::string packet, bool may_be_missed) {
  say_kept();
  if (may_be_missed && !has_room()) return;
  if (has_unsaid() || !fits(packet)) unsaid_.push_back(std::move(packet));
}

/// "more" goes while there is room for it.
void SupervisorLink::renewed(std::string packet) {
  say_kept();
  if (!has_unsaid() && has_room() && fits(packet)) return;
  if (!renewal_) fits(encode({std::string(kMore), {}}));
  renewal_ = std::move(packet);
}

/// Only what fits besides many more: Linux says so of a socket of which three quarters are free.
bool SupervisorLink::has_room() const {
  pollfd socket{socket_.get(), POLLOUT, 0};
  return poll(&socket, 1, 0) == 1;
}

/// Sends it. False: there is no room. For a supervisor that is gone there is.
bool SupervisorLink::fits(const std::string& packet) {
  return send_packet(socket_.get(), packet) >= 0 || errno != EAGAIN;
}

void SupervisorLink::say_kept() {
  if (renewal_ && socket_.valid() && has_room() && fits(*renewal_)) renewal_.reset();
  while (!renewal_ && socket_.valid() && !unsaid_.empty() && fits(unsaid_.front())) unsaid_.pop_front();
}

void SupervisorLink::ask_whether_there() {
  if (socket_.valid()) say(encode({std::string(kThere), {}}), true);
}

void SupervisorLink::tell_count(int entries) {
  say(encode({std::string(kCount), {{"entries", field_text(entries)}}}), true);
}

void SupervisorLink::receive() {
  say_kept();
  static char packet[kLargestMessage];  // touched only as far as a message fills it
  while (socket_.valid()) {
    UniqueFd passed;
    const ssize_t size = receive_packet(socket_.get(), packet, &passed);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (size <= 0) {
      nonsense_ = nonsense_ || (size < 0 && errno != ECONNRESET);
      gone_ = true;
      socket_.reset();
      return;
    }
    heard_ = true;
    const auto message = decode({packet, static_cast<std::size_t>(size)});
    if (message) take(*message, std::move(passed));
    else nonsense_ = true;
  }
}

void SupervisorLink::take(const Message& message, UniqueFd passed) {
  const auto take_deadline = [&](std::optional<TimePoint>& by) {
    const auto deadline = parse_deadline(message);
    if (deadline) by = *deadline;
    else nonsense_ = true;
  };
  if (message.verb == "acquire") {
    auto request = parse_acquire(message);
    if (!request) return refuse(request.error());
    acquire_ = std::move(*request);
    entrance_ = std::move(passed);
  } else if (message.verb == "who") {
    who_ = true;
  } else if (message.verb == "withdraw") {
    take_deadline(withdraw_by_);
  } else if (message.verb == "release") {
    take_deadline(release_by_);
  } else if (message.verb == "started") {
    started_ = Guard{std::move(passed), std::move(farewell_)};
  } else if (message.verb == "farewell") {
    farewell_ = std::move(passed);
  } else if (message.verb == kHere) {
    // heard: that is all
  } else if (message.verb == kCount) {
    count_ = true;
  } else if (message.verb == "over") {
    over_ = true;
  } else if (message.verb == "ended") {
    ended_ = number_of<int>(message, "status", 0);
    nonsense_ = nonsense_ || !ended_;
  } else if (message.verb == "detach") {
    const auto ttl = number_of<std::int64_t>(message, "ttl");
    detach_ = Detach{Duration(ttl.value_or(0)), number_of<pid_t>(message, "pid")};
  } else {
    nonsense_ = true;
  }
}

/// So that the reader of the other end learns the reason, and does not only see an end.
void SupervisorLink::refuse(const Error& error) {
  tell(Refused{error, std::nullopt});
  nonsense_ = true;
}

std::optional<AcquireRequest> SupervisorLink::take_acquire() { return std::exchange(acquire_, std::nullopt); }

void SupervisorLink::close() {
  socket_.reset();
  gone_ = false;
}

}  // namespace dlock
