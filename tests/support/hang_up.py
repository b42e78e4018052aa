# SPDX-License-Identifier: Apache-2.0
"""hang_up.py COMMAND...: reads a line of a command whose stdout is a socket, as programs of Node.js have them, and closes
it. Prints the line and ends as the command does (128+N for signal N), or with 99 when it goes on for 20 seconds."""
import socket
import subprocess
import sys

ours, theirs = socket.socketpair()
command = subprocess.Popen(sys.argv[1:], stdout=theirs)
theirs.close()
line = b""
while not line.endswith(b"\n"):
    line += ours.recv(1) or b"\n"
ours.close()
try:
    status = command.wait(20)
except subprocess.TimeoutExpired:
    command.kill()
    command.wait()
    status = 99
sys.stdout.write(line.decode())
sys.exit(status if status >= 0 else 128 - status)
