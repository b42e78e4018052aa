# SPDX-License-Identifier: Apache-2.0
# Mounts of a test's own, which end with the processes that see them.

# Sets $apart: unshare(1) with options, behind which a command's mounts are its own. In a root whose / is no mount point (a
# chroot) it cannot make them private, and need not where nothing of them is shared. Fails where mounting is not allowed.
mounts_apart() {
  apart=(unshare --mount)
  if ! "${apart[@]}" true 2>/dev/null && ! grep -q ' shared:' /proc/self/mountinfo; then
    apart+=(--propagation unchanged)
  fi
  "${apart[@]}" mount -t tmpfs none /var/lib 2>/dev/null
}
