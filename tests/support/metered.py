# SPDX-License-Identifier: Apache-2.0
"""metered.py FILE COMMAND...: runs the command, ends with its status, and writes to FILE one line

  status STATUS ms TIME kib MEMORY left COUNT

TIME until the command had ended; MEMORY, the most that the command or any of its descendants had resident at once;
COUNT, how many of these were still there 3 s after it had ended (they are killed then). Descendants are found wherever
they are, because this process adopts them."""
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
LONGEST_FAREWELL = 3.0


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(pid) for pid in file.read().split()]


def reap(until):
    """Waits for all descendants to end. How many have not by then; they are killed, with what they leave to us."""
    left = set()
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return len(left)
        if time.monotonic() >= until:
            for pid in children():
                left.add(pid)
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)


name, command = sys.argv[1], sys.argv[2:]
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
begin = time.monotonic()
status = subprocess.Popen(command).wait()
end = time.monotonic()
left = reap(end + LONGEST_FAREWELL)
kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
with open(name + ".part", "w") as file:
    file.write(f"status {status} ms {round((end - begin) * 1000)} kib {kib} left {left}\n")
os.rename(name + ".part", name)
sys.exit(status if status >= 0 else 128 - status)
