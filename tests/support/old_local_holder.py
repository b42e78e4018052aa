# SPDX-License-Identifier: Apache-2.0
"""The hold of a dlock 0.1 on a lock file that is there: old_local_holder.py FILE REASON. Writes what that one wrote, locks
its byte, prints its token, and holds until stdin ends. Layout: backends/local/files/layout.h, record.h, rules.h."""
import fcntl
import os
import struct
import sys
import time

F_OFD_SETLK = 37
HEADER_AT, RECORD_AT, MIDDLE = 288, 384, 1 << 62


def sealed(block):
    total = 0xCBF29CE484222325
    for (word,) in struct.iter_unpack("<Q", block):
        total = ((total ^ word) * 0x100000001B3) % (1 << 64)
        total ^= total >> 29
    return block + struct.pack("<Q", total | 1)


path, reason = sys.argv[1:]
file = os.open(path, os.O_RDWR)
header = os.pread(file, RECORD_AT - HEADER_AT, HEADER_AT)
now_us = time.time_ns() // 1000
ticket = max(struct.unpack_from("<Q", header)[0] + 1, now_us)
at = MIDDLE - 64 * ticket + 63
fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, at, 1, 0))
record = struct.pack("<Q16sIIqQII6q64s80s", ticket, os.urandom(16), 0, 1, os.getpid(), os.stat("/proc/self/ns/pid").st_ino,
                     os.getuid(), 0, now_us, 0, 0, time.clock_gettime_ns(time.CLOCK_BOOTTIME), 0, 0, b"old-host",
                     reason.encode())
os.pwrite(file, sealed(struct.pack("<QQ", ticket, ticket) + header[16:-8]) + sealed(record), HEADER_AT)
print(ticket, flush=True)
sys.stdin.read()
