# SPDX-License-Identifier: Apache-2.0
"""denying.py CALL ARGUMENT VALUE ERROR COMMAND...: COMMAND, for which the kernel refuses a system call whose argument (from 0)
has that value: denying.py read 0 0 EAGAIN COMMAND... never reads anything from its stdin."""
import ctypes
import errno
import os
import struct
import sys

NUMBERS = {
    "x86_64": {"read": 0, "clone": 56, "fcntl": 72, "getrandom": 318},
    "aarch64": {"read": 63, "fcntl": 25, "clone": 220, "getrandom": 278},
}
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, ANSWER = 0x20, 0x15, 6
REFUSE, ALLOW = 0x50000, 0x7FFF0000


def main():
    call, argument, value, error = sys.argv[1:5]
    lines = [
        (LOAD, 0, 0, 0),
        (EQUAL, 0, 3, NUMBERS[os.uname().machine][call]),
        (LOAD, 0, 0, 16 + 8 * int(argument)),
        (EQUAL, 0, 1, int(value)),
        (ANSWER, 0, 0, REFUSE | getattr(errno, error)),
        (ANSWER, 0, 0, ALLOW),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    whole = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(lines), ctypes.addressof(program)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    if prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or prctl(SET_SECCOMP, FILTER, ctypes.byref(whole)):
        sys.exit("denying.py: " + os.strerror(ctypes.get_errno()))
    os.execvp(sys.argv[5], sys.argv[5:])


main()
