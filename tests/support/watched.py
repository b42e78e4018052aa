# SPDX-License-Identifier: Apache-2.0
"""watched.py FILE COMMAND...: runs the command, then writes to FILE how it ended, as its parent sees it: "exit 7" or
"signal 15". FILE.pid has the id of the command meanwhile. A shell cannot tell the two apart: both are 143 to it."""
import os
import subprocess
import sys

name, command = sys.argv[1], sys.argv[2:]


def write(path, text):
    with open(path + ".part", "w") as file:
        file.write(text + "\n")
    os.rename(path + ".part", path)


process = subprocess.Popen(command)
write(name + ".pid", str(process.pid))
status = process.wait()
write(name, f"exit {status}" if status >= 0 else f"signal {-status}")
