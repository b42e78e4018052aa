// SPDX-License-Identifier: Apache-2.0
#include "lib/base/packets.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace packets_test {

using namespace dlock;

TEST_CASE("A packet that is larger than the room for it is an error, not half a message") {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  char packet[16];
  UniqueFd passed;
  for (UniqueFd* wanted : {static_cast<UniqueFd*>(nullptr), &passed}) {
    REQUIRE(send_packet(ends[0], "0123456789abcdef", wanted ? STDIN_FILENO : -1) == 16);
    REQUIRE(send_packet(ends[0], "0123456789abcdef+", wanted ? STDIN_FILENO : -1) == 17);
    REQUIRE(send_packet(ends[0], "next") == 4);
    CHECK(receive_packet(ends[1], packet, wanted) == 16);
    CHECK(receive_packet(ends[1], packet, wanted) == -1);
    CHECK(errno == EMSGSIZE);
    CHECK(receive_packet(ends[1], packet, wanted) == 4);
  }
  for (const int fd : ends) close(fd);
}

TEST_CASE("A descriptor that goes with a packet is received, or closed by who does not want it") {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  int pipe_ends[2];
  REQUIRE(pipe(pipe_ends) == 0);
  REQUIRE(send_packet(ends[0], "look", pipe_ends[1]) == 4);
  REQUIRE(send_packet(ends[0], "look", pipe_ends[1]) == 4);
  close(pipe_ends[1]);
  char packet[16];
  UniqueFd passed;
  CHECK(receive_packet(ends[1], packet, &passed) == 4);
  REQUIRE(passed.valid());
  CHECK(receive_packet(ends[1], packet) == 4);
  passed.reset();
  CHECK(read(pipe_ends[0], packet, 1) == 0);  // nobody has the other end any more
  for (const int fd : {ends[0], ends[1], pipe_ends[0]}) close(fd);
}

TEST_CASE("The last words of a peer that ended before it had read everything are heard") {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
  REQUIRE(send(ends[0], "who", 3, 0) == 3);
  REQUIRE(send(ends[1], "refused", 7, 0) == 7);
  close(ends[1]);
  char packet[16];
  CHECK(receive_packet(ends[0], packet) == 7);
  CHECK(receive_packet(ends[0], packet) == 0);
  close(ends[0]);
}

}  // namespace packets_test
