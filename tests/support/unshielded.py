# SPDX-License-Identifier: Apache-2.0
"""Becomes the command with INT and QUIT as they were before a shell put it into the background, and without the
shell's own descriptors."""
import os
import signal
import sys

for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
os.closerange(3, 1024)
os.execvp(sys.argv[1], sys.argv[1:])
