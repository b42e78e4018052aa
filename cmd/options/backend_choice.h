// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cmd/options/settings.h"
#include "lib/config/backend_url.h"
#include "lib/config/config.h"

namespace dlock {

/// Turns a URL, or the name of a [backend.NAME] section, into a backend without its password. Invalid for what is
/// neither (naming the nearest of both); Misconfigured for a section without a url. A parameter of a section that its
/// URL does not have is put among `mistakes`, and left out.
Result<BackendUrl> choose_backend(const Config& config, const std::string& text, std::vector<Error>& mistakes);

/// Stands in for the backend `name` that is wrong, where the rest is read all the same.
BackendUrl unknown_backend(const std::string& name);
bool is_unknown(const BackendUrl& url);

/// " -b URL", or its name, as an advice has it behind a dlock command that is to ask this store; without a password.
std::string backend_option(const BackendUrl& url);

/// Fills in the password: password-file, else $CREDENTIALS_DIRECTORY/dlock.NAME.password, else `variable`
/// (DLOCK_PASSWORD, of the first backend), else what the URL says; a URL that was `typed` is stronger than the
/// variable. What is wrong with a file that is used all the same goes among `warnings`, unless systemd guards it.
Result<void> add_password(BackendUrl& url, const Environment& environment, std::string_view variable, bool typed,
                          std::vector<std::string>& warnings);

}  // namespace dlock
