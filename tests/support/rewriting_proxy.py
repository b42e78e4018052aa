# SPDX-License-Identifier: Apache-2.0
"""rewriting_proxy.py FILE PORT FROM TO...: a server on 127.0.0.1 that is asked for something else than clients say.

Hands on what arrives, with every FROM in a request replaced by TO, which is as long. FILE gets the port where clients
connect. A text that arrives in two pieces is not found: requests are small."""
import os
import socket
import sys
import threading


def hand_on(source, sink, pairs):
    while data := source.recv(65536):
        for old, new in pairs:
            data = data.replace(old, new)
        sink.sendall(data)
    sink.shutdown(socket.SHUT_WR)


def serve(client, port, pairs):
    server = socket.create_connection(("127.0.0.1", port))
    threading.Thread(target=hand_on, args=(server, client, []), daemon=True).start()
    try:
        hand_on(client, server, pairs)
    except OSError:
        server.close()


file, port, words = sys.argv[1], int(sys.argv[2]), [word.encode() for word in sys.argv[3:]]
pairs = list(zip(words[::2], words[1::2]))
assert pairs and all(len(old) == len(new) for old, new in pairs)
listener = socket.create_server(("127.0.0.1", 0))
with open(file + ".part", "w") as out:
    out.write(f"{listener.getsockname()[1]}\n")
os.rename(file + ".part", file)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0], port, pairs), daemon=True).start()
