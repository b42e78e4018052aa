// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "lib/config/backend_url.h"
#include "tests/fuzz/target.h"

using namespace dlock;

const std::string_view dlock::kPieces[] = {"local:",
                                           "local:/dir",
                                           "redis://",
                                           "rediss://",
                                           "redis+unix:///run/r.sock",
                                           "redis+sentinel://h1,h2/master/1",
                                           "redis+cluster://a,b",
                                           "redlock://a,b,c/2",
                                           "redis://h?stock=decr",
                                           "zk://a,b,c/root?recipe=mutex",
                                           "mysql://u@h:3307/db?strategy=row&row=t:c=1",
                                           "user:pw@",
                                           "s3cret",
                                           "host",
                                           ":6379",
                                           "/0",
                                           "?",
                                           "&",
                                           "=",
                                           "%41",
                                           "%",
                                           "%zz",
                                           "[::1]",
                                           "[",
                                           "]",
                                           ",",
                                           "@",
                                           ":",
                                           "/",
                                           "layout=redisson",
                                           "kind=fair",
                                           "wait_replicas=all",
                                           "ca-file=/ca",
                                           "password-file=/pw",
                                           "socket=/s",
                                           "allow-network-fs",
                                           "\n",
                                           "é",
                                           ""};
const std::size_t dlock::kPieceCount = std::size(kPieces);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto url = BackendUrl::parse(as_text(data, size));
  if (!url) {
    promise(!url.error().message.empty(), "an error says what");
    const bool code = url.error().code == ErrorCode::kInvalid || url.error().code == ErrorCode::kMisconfigured;
    promise(code, "an error is the caller's or the configuration's");
    return 0;
  }
  const std::string shown = url->redacted();
  BackendUrl bare = *url;
  bare.password.clear();
  const auto again = BackendUrl::parse(bare.redacted());
  promise(static_cast<bool>(again), "the canonical form is a URL");
  promise(again->redacted() == bare.redacted(), "the canonical form is its own canonical form");
  const bool named = !url->is_local() || !url->path.empty();  // local: is shown with the directory that it means
  promise(!named || again->path == url->path, "the path is not lost");
  promise(again->params == url->params && again->user == url->user, "nothing is lost");
  bare.password = "another";
  promise(url->password.empty() || bare.redacted() == shown, "what is shown does not depend on the password");
  return 0;
}
