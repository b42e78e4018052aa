# SPDX-License-Identifier: Apache-2.0
"""The protocol of Redis, as far as what stands between a client and a server has to know it."""


def message_end(data, at=0):
    """Where the RESP message that begins at `at` ends; None if it is not complete."""
    line = data.find(b"\r\n", at)
    if line < 0:
        return None
    kind, after = data[at:at + 1], line + 2
    if kind == b"$" and data[at + 1:line] != b"-1":
        after += int(data[at + 1:line]) + 2
        return after if after <= len(data) else None
    if kind == b"*":
        for _ in range(max(0, int(data[at + 1:line]))):
            after = message_end(data, after)
            if after is None:
                return None
    return after
