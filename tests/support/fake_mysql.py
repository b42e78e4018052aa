#!/usr/bin/python3 -SE
# SPDX-License-Identifier: Apache-2.0
"""A MySQL server that lies: fake_mysql.py FOLDER MODE [ARGUMENT]

Writes FOLDER/port and FOLDER/pid, runs until it is killed. What a client says behind the greeting goes to FOLDER/heard,
byte by byte. MODE is what it does:

  greet PLUGIN    begins the login with PLUGIN, asks for it again when the client takes another, and then refuses it
  switch PLUGIN   begins with mysql_native_password, then asks for PLUGIN, and then refuses it
  short           the same with the one byte that asks for a password of before 4.1

  admit PLUGIN    begins with PLUGIN, and lets everybody in who has said something; then the same as "begin"

The others let everybody in. They answer with OK until the first SELECT, and that with
  begin PLUGIN    nothing; the login begins with PLUGIN, and is done by mysql_native_password
  columns         column definitions without end
  count N         the announcement of N columns, and then the end of their definitions
  rows            rows without end
  row             one row without end
  nulls           rows of a thousand NULLs without end
  progress        reports of progress without end
  results         empty results without end, each of which says that there is another one
  file PATH       the wish to be sent the client's file
  cut             half an answer, and the end
"""
import os
import socket
import sys
import threading

NATIVE = b"mysql_native_password"
# LONG_PASSWORD, CONNECT_WITH_DB, LOCAL_FILES, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_STATEMENTS,
# MULTI_RESULTS, PLUGIN_AUTH
CAPABILITIES = 0x1 | 0x8 | 0x80 | 0x200 | 0x2000 | 0x8000 | 0x10000 | 0x20000 | 0x80000
MORE_RESULTS = 0x8
END = b"\xfe\x00\x00\x02\x00"


class Gone(Exception):
    """The client has closed the connection."""


def number(n):
    if n < 251:
        return bytes([n])
    if n < 1 << 16:
        return b"\xfc" + n.to_bytes(2, "little")
    return b"\xfe" + n.to_bytes(8, "little")


def text(value):
    return number(len(value)) + value


def ok(status=2):
    return b"\x00\x00\x00" + status.to_bytes(2, "little") + b"\x00\x00"


def refusal():
    return b"\xff" + (1045).to_bytes(2, "little") + b"#28000Access denied"


def column(name):
    kind = b"\x0c\x3f\x00\x00\x01\x00\x00\xfd\x00\x00\x00\x00\x00"
    return text(b"def") + text(b"") * 3 + text(name) * 2 + kind


def result(columns, rows):
    return [number(columns), *[column(b"c")] * columns, END, *rows, END]


class Client:
    def __init__(self, sock, heard):
        self.sock, self.heard, self.sequence = sock, heard, 0

    def take(self, count):
        data = b""
        while len(data) < count:
            part = self.sock.recv(count - len(data))
            if not part:
                raise Gone
            data += part
        self.heard.write(data)
        self.heard.flush()
        return data

    def hear(self):
        head = self.take(4)
        self.sequence = head[3] + 1
        return self.take(int.from_bytes(head[:3], "little"))

    def framed(self, packets):
        data = b""
        for packet in packets:
            data += len(packet).to_bytes(3, "little") + bytes([self.sequence & 255]) + packet
            self.sequence += 1
        return data

    def say(self, *packets):
        self.sock.sendall(self.framed(packets))

    def greet(self, plugin):
        salt = b"abcdefghijklmnopqrst"
        self.say(b"\x0a8.0.0-fake\x00" + (7).to_bytes(4, "little") + salt[:8] + b"\x00" +
                 (CAPABILITIES & 0xffff).to_bytes(2, "little") + b"\x21\x02\x00" + (CAPABILITIES >> 16).to_bytes(2, "little") +
                 bytes([len(salt) + 1]) + b"\x00" * 10 + salt[8:] + b"\x00" + plugin + b"\x00")

    def refuse(self):
        """Hears what else the client wants to tell, then says no."""
        self.hear()
        self.say(refusal())


def without_end(client, packet):
    """Their numbers are the same again after 256."""
    data = client.framed([packet] * 256)
    while True:
        client.sock.sendall(data)


def answer(client, mode, argument):
    if mode == "columns":
        client.say(number(4_000_000))
        without_end(client, column(b"c"))
    elif mode == "count":
        client.say(number(int(argument)), END, END)
    elif mode == "rows":
        client.say(number(1), column(b"c"), END)
        without_end(client, text(b"x" * 20))
    elif mode == "row":
        client.say(number(1), column(b"c"), END)
        part = b"\xff\xff\xff"
        while True:
            client.sock.sendall(part + bytes([client.sequence & 255]) + b"\xfe" + (1 << 33).to_bytes(8, "little") +
                                b"x" * (0xffffff - 9))
            client.sequence += 1
    elif mode == "nulls":
        client.say(number(1000), *[column(b"c")] * 1000, END)
        without_end(client, b"\xfb" * 1000)
    elif mode == "progress":
        without_end(client, b"\xff\xff\xff\x01\x01\x02\x00\x00\x00" + text(b"still at it"))
    elif mode == "results":
        without_end(client, ok(2 | MORE_RESULTS))
    elif mode == "file":
        client.say(b"\xfb" + argument)
        while client.hear():
            pass
        client.say(ok())
    elif mode in ("begin", "admit"):
        raise Gone
    elif mode == "cut":
        client.say(number(3), column(b"c"))
        raise Gone


def serve(sock, heard, mode, argument):
    client = Client(sock, heard)
    client.greet(argument if mode in ("greet", "begin", "admit") else NATIVE)
    client.hear()
    if mode == "begin":
        client.say(b"\xfe" + NATIVE + b"\x00abcdefghijklmnopqrst\x00")
        client.hear()
    if mode in ("greet", "switch"):
        client.say(b"\xfe" + argument + b"\x00abcdefghijklmnopqrst\x00")
        client.refuse()
    if mode == "short":
        client.say(b"\xfe")
        client.refuse()
    client.say(ok())
    while True:
        command = client.hear()
        if command[:1] == b"\x01":
            raise Gone
        if command[1:].startswith(b"SHOW"):
            client.say(*result(2, [text(b"lower_case_table_names") + text(b"0")]))
        elif b"SELECT" in command.upper() and not command[1:].startswith(b"SET SESSION"):
            answer(client, mode, argument)
        else:
            client.say(ok())


def serve_one(sock, heard, mode, argument):
    try:
        serve(sock, heard, mode, argument)
    except (Gone, OSError):
        pass
    sock.close()


def main():
    folder, mode = sys.argv[1:3]
    argument = os.fsencode(sys.argv[3]) if len(sys.argv) > 3 else b""
    os.makedirs(folder, exist_ok=True)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    heard = open(os.path.join(folder, "heard"), "ab")
    for name, value in (("pid", os.getpid()), ("port.new", listener.getsockname()[1])):
        with open(os.path.join(folder, name), "w") as file:
            print(value, file=file)
    os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
    while True:
        threading.Thread(target=serve_one, args=(listener.accept()[0], heard, mode, argument), daemon=True).start()


main()
