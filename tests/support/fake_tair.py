#!/usr/bin/python3 -E
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for a Tair server: the commands that dlock uses, with the bytes that the TairString module answers.

    fake_tair.py           listens on 127.0.0.1, prints "port N", and runs until its standard input ends
    fake_tair.py FOLDER    writes FOLDER/pid and FOLDER/port, and runs until it is killed

FAKE CUT NAME: the next command NAME is executed, and its connection is closed instead of answered.
FAKE SEEN: the commands so far, one string each, and those that scripts called. Scripts are run by a Lua like that of the
servers (5.1), with the same conversions.
"""
import os
import selectors
import socket
import sys
import time

import lupa

SYNTAX = b"-ERR syntax error\r\n"
WRONG = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"
STALE = b"-ERR update version is stale\r\n"
NIL = b"$-1\r\n"
OK = b"+OK\r\n"


class Refuse(Exception):
    """An error reply, as its bytes."""


def integer(n):
    return b":%d\r\n" % n


def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text)


def array(items):
    return b"*%d\r\n" % len(items) + b"".join(items)


class Value:
    def __init__(self, kind, data, ends=None, version=0, flags=0):
        self.kind, self.data, self.ends, self.version, self.flags = kind, data, ends, version, flags


class Options:
    """What follows key and value: NX|XX, EX|PX|EXAT|PXAT n, VER|ABS n, FLAGS n, WITHVERSION, KEEPTTL."""

    def __init__(self, words, allowed):
        self.ends, self.condition, self.version, self.absolute = None, None, None, None
        self.flags, self.with_version, self.keep_ttl = None, False, False
        words = list(words)
        while words:
            name = words.pop(0).upper()
            if name not in allowed:
                raise Refuse(SYNTAX)
            if name in (b"NX", b"XX"):
                if self.condition:
                    raise Refuse(SYNTAX)
                self.condition = name
            elif name == b"WITHVERSION":
                self.with_version = True
            elif name == b"KEEPTTL":
                self.keep_ttl = True
            else:
                self.number(name, words)

    def number(self, name, words):
        if not words or not words[0].lstrip(b"-").isdigit():
            raise Refuse(SYNTAX)
        n = int(words.pop(0))
        if name in (b"VER", b"ABS"):
            if n < 0 or self.version is not None or self.absolute is not None:
                raise Refuse(SYNTAX)
            if name == b"VER":
                self.version = n
            else:
                self.absolute = n
        elif name == b"FLAGS":
            self.flags = n
        else:
            if n <= 0 or self.ends is not None:
                raise Refuse(SYNTAX)
            self.ends = {b"EX": time.time() + n, b"PX": time.time() + n / 1000, b"EXAT": n, b"PXAT": n / 1000}[name]


TTL = [b"EX", b"PX", b"EXAT", b"PXAT"]
SET_OPTIONS = [b"NX", b"XX"] + TTL
EXSET_OPTIONS = SET_OPTIONS + [b"VER", b"ABS", b"FLAGS", b"WITHVERSION", b"KEEPTTL"]
SWAP_OPTIONS = TTL + [b"KEEPTTL"]


class Store:
    def __init__(self):
        self.keys = {}

    def find(self, key, kind=None):
        value = self.keys.get(key)
        if value and value.ends is not None and value.ends <= time.time():
            del self.keys[key]
            value = None
        if value and kind and value.kind != kind:
            raise Refuse(WRONG)
        return value

    def PING(self):
        return b"+PONG\r\n"

    def SELECT(self, _):
        return OK

    def CLIENT(self, *_):
        return OK

    def TIME(self):
        us = int(time.time() * 1000000)
        return array([bulk(b"%d" % (us // 1000000)), bulk(b"%d" % (us % 1000000))])

    def INFO(self, *_):
        return bulk(b"# Server\r\nredis_version:5.0.5\r\nrun_id:" + b"0" * 40 + b"\r\nrole:master\r\naof_enabled:1\r\n")

    def TYPE(self, key):
        value = self.find(key)
        return b"+none\r\n" if not value else b"+" + value.kind.encode() + b"\r\n"

    def EXISTS(self, key):
        return integer(1 if self.find(key) else 0)

    def PTTL(self, key):
        return integer(self.pttl(key))

    def pttl(self, key):
        value = self.find(key)
        if not value:
            return -2
        return -1 if value.ends is None else int((value.ends - time.time()) * 1000)

    def DEL(self, *keys):
        return integer(sum(1 for key in keys if self.find(key) and self.keys.pop(key)))

    def SCAN(self, _, *__):
        return array([bulk(b"0"), array([bulk(key) for key in list(self.keys) if self.find(key)])])

    def HSET(self, key, *words):
        value = self.find(key, "hash")
        if not value:
            value = self.keys[key] = Value("hash", {})
        pairs = dict(zip(words[::2], words[1::2]))
        new = len(set(pairs) - set(value.data))
        value.data.update(pairs)
        return integer(new)

    def GET(self, key):
        value = self.find(key, "string")
        return bulk(value.data) if value else NIL

    def MGET(self, *keys):
        return array([self.GET(key) for key in keys])

    def SET(self, key, data, *words):
        options = Options(words, SET_OPTIONS)
        if options.condition == b"NX" and self.find(key) or options.condition == b"XX" and not self.find(key):
            return NIL
        self.keys[key] = Value("string", data, options.ends)
        return OK

    def CAS(self, key, old, new, *words):
        options = Options(words, SWAP_OPTIONS)
        value = self.find(key, "string")
        if not value:
            return integer(-1)
        if value.data != old:
            return integer(0)
        value.data, value.ends = new, options.ends  # KEEPTTL loses it, too
        return integer(1)

    def CAD(self, key, data):
        value = self.find(key, "string")
        if not value:
            return integer(-1)
        if value.data != data:
            return integer(0)
        del self.keys[key]
        return integer(1)

    def EXSET(self, key, data, *words):
        options = Options(words, EXSET_OPTIONS)
        existing = self.find(key)
        if options.condition == b"NX" and existing or options.condition == b"XX" and not existing:
            return NIL
        value = self.find(key, "exstrtype")
        if value and options.version and options.version != value.version:
            return STALE
        if not value:
            value = self.keys[key] = Value("exstrtype", data)  # VER is ignored
        value.data, value.flags = data, options.flags if options.flags is not None else value.flags
        if not options.keep_ttl:
            value.ends = options.ends
        value.version = options.absolute if options.absolute is not None else value.version + 1
        return integer(value.version) if options.with_version else OK

    def EXGET(self, key, *words):
        value = self.find(key, "exstrtype")
        if not value:
            return NIL
        flags = [integer(value.flags)] if words and words[0].upper() == b"WITHFLAGS" else []
        return array([bulk(value.data), integer(value.version)] + flags)

    def EXCAS(self, key, data, version, *words):
        if not version.lstrip(b"-").isdigit():
            raise Refuse(b"-ERR version should be integer\r\n")
        options = Options(words, SWAP_OPTIONS)
        value = self.find(key, "exstrtype")
        if not value:
            return integer(-1)
        if value.version != int(version):
            return array([b"+CAS_FAILED\r\n", bulk(value.data), integer(value.version)])
        value.data, value.version = data, value.version + 1
        if not options.keep_ttl:
            value.ends = options.ends
        return array([OK, b"+\r\n", integer(value.version)])

    def EXCAD(self, key, version):
        value = self.find(key, "exstrtype")
        if not value:
            return integer(-1)
        if value.version != int(version):
            return integer(0)
        del self.keys[key]
        return integer(1)

    def EXINCRBY(self, key, by, *words):
        words = [word.upper() for word in words]
        value = self.find(key, "exstrtype")
        new = (int(value.data) if value else 0) + int(by)
        if b"NONEGATIVE" in words:
            new = max(new, 0)
        if b"MIN" in words and new < int(words[words.index(b"MIN") + 1]):
            raise Refuse(b"-ERR increment or decrement would overflow\r\n")
        if not value:
            value = self.keys[key] = Value("exstrtype", b"")
        value.data, value.version = b"%d" % new, value.version + 1
        return integer(new)

    def HGET(self, key, field):
        value = self.find(key, "hash")
        return bulk(value.data[field]) if value and field in value.data else NIL

    def HDEL(self, key, *fields):
        value = self.find(key, "hash")
        gone = sum(1 for field in fields if value and value.data.pop(field, None) is not None)
        if value and not value.data:
            del self.keys[key]
        return integer(gone)

    def HMGET(self, key, *fields):
        value = self.find(key, "hash")
        return array([bulk(value.data[field]) if value and field in value.data else NIL for field in fields])

    def HGETALL(self, key):
        value = self.find(key, "hash")
        return array([bulk(word) for pair in (value.data.items() if value else []) for word in pair])

    def HKEYS(self, key):
        value = self.find(key, "hash")
        return array([bulk(field) for field in (value.data if value else [])])

    def HLEN(self, key):
        value = self.find(key, "hash")
        return integer(len(value.data) if value else 0)

    def HEXISTS(self, key, field):
        value = self.find(key, "hash")
        return integer(1 if value and field in value.data else 0)

    def HINCRBY(self, key, field, by):
        value = self.find(key, "hash")
        new = int(value.data.get(field, b"0") if value else 0) + int(by)
        self.HSET(key, field, b"%d" % new)
        return integer(new)

    def ZADD(self, key, score, member):
        value = self.find(key, "zset")
        if not value:
            value = self.keys[key] = Value("zset", {})
        new = member not in value.data
        value.data[member] = float(score)
        return integer(1 if new else 0)

    def ZREM(self, key, *members):
        value = self.find(key, "zset")
        gone = sum(1 for member in members if value and value.data.pop(member, None) is not None)
        if value and not value.data:
            del self.keys[key]
        return integer(gone)

    def ZSCORE(self, key, member):
        value = self.find(key, "zset")
        return bulk(b"%.17g" % value.data[member]) if value and member in value.data else NIL

    def up_to(self, key, most):
        value = self.find(key, "zset")
        return sorted((score, member) for member, score in (value.data.items() if value else []) if score <= float(most))

    def ZRANGEBYSCORE(self, key, _, most, __, offset, count):
        found = self.up_to(key, most)[int(offset):int(offset) + int(count)]
        return array([bulk(member) for __, member in found])

    def ZREMRANGEBYSCORE(self, key, _, most):
        return self.ZREM(key, *[member for __, member in self.up_to(key, most)])

    def PEXPIRE(self, key, ms):
        value = self.find(key)
        if not value:
            return integer(0)
        value.ends = time.time() + int(ms) / 1000
        return integer(1)

    def EVAL(self, script, count, *words):
        return self.scripts.run(script, words[:int(count)], words[int(count):])


class Scripts:
    """Lua with redis.call and redis.pcall."""

    def __init__(self, execute):
        self.execute = execute
        self.lua = lupa.LuaRuntime(encoding=None, unpack_returned_tuples=True)
        self.lua.globals()[b"redis"] = self.lua.table_from({b"call": self.call, b"pcall": self.pcall})
        # What Python cannot do: raise what a table says, as redis.call does.
        self.lua.execute(b"""
            local ask = redis.call
            redis.call = function(...)
              local reply = ask(...)
              if type(reply) == 'table' and reply.err then error(reply, 0) end
              return reply
            end""")

    def call(self, *words):
        return self.to_lua(parse_reply(self.execute([self.word(word) for word in words]))[0])

    pcall = call

    @staticmethod
    def word(value):
        return value if isinstance(value, bytes) else b"%.17g" % value

    def to_lua(self, reply):
        if isinstance(reply, list):
            return self.lua.table_from([self.to_lua(one) for one in reply])
        if isinstance(reply, Exception):
            return self.lua.table_from({b"err": reply.args[0]})
        if isinstance(reply, Status):
            return self.lua.table_from({b"ok": bytes(reply)})
        return False if reply is None else reply

    def from_lua(self, value):
        if value is None or value is False:
            return NIL
        if value is True:
            return integer(1)
        if isinstance(value, bytes):
            return bulk(value)
        if isinstance(value, (int, float)):
            return integer(int(value))
        if value[b"err"] is not None:
            return b"-" + value[b"err"] + b"\r\n"
        if value[b"ok"] is not None:
            return b"+" + value[b"ok"] + b"\r\n"
        return array([self.from_lua(one) for one in value.values()])

    def run(self, script, keys, words):
        globals_ = self.lua.globals()
        globals_[b"KEYS"], globals_[b"ARGV"] = self.lua.table_from(keys), self.lua.table_from(words)
        run = self.lua.eval(b"""function(text)
            local chunk, why = loadstring(text)
            if not chunk then return {err = 'ERR Error compiling script: ' .. why} end
            local ok, answer = pcall(chunk)
            if ok or type(answer) == 'table' then return answer end
            return {err = 'ERR Error running script: ' .. tostring(answer)}
        end""")
        return self.from_lua(run(script))


class Status(bytes):
    pass


def parse_reply(data, at=0):
    """A reply as Python says it, and where it ends."""
    end = data.index(b"\r\n", at)
    kind, line, after = data[at:at + 1], data[at + 1:end], end + 2
    if kind == b"+":
        return Status(line), after
    if kind == b"-":
        return Exception(line), after
    if kind == b":":
        return int(line), after
    if int(line) < 0:
        return None, after
    if kind == b"$":
        return data[after:after + int(line)], after + int(line) + 2
    items = []
    for _ in range(int(line)):
        item, after = parse_reply(data, after)
        items.append(item)
    return items, after


class Server:
    def __init__(self):
        self.store, self.cut, self.seen = Store(), None, []
        self.store.scripts = Scripts(self.command)
        self.selector = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.buffers = {}

    def announce(self, folder):
        port = self.listener.getsockname()[1]
        if folder is None:
            self.selector.register(sys.stdin.buffer.raw, selectors.EVENT_READ)
            return print("port", port, flush=True)
        for name, number in (("pid", os.getpid()), ("port", port)):
            with open(f"{folder}/{name}.part", "w") as out:
                out.write(f"{number}\n")
            os.rename(f"{folder}/{name}.part", f"{folder}/{name}")

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    connection = self.listener.accept()[0]
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self.buffers[connection] = b""
                    self.selector.register(connection, selectors.EVENT_READ)
                elif key.fileobj in self.buffers:
                    self.serve(key.fileobj)
                elif not key.fileobj.read(1024):
                    return

    def serve(self, connection):
        try:
            got = connection.recv(65536)
        except OSError:
            got = b""
        self.buffers[connection] += got
        alive = bool(got)
        while alive:
            words, self.buffers[connection] = parse(self.buffers[connection])
            if words is None:
                return
            answer = self.answer(words)
            alive = answer is not None and self.send(connection, answer)
        self.selector.unregister(connection)
        del self.buffers[connection]
        connection.close()

    @staticmethod
    def send(connection, answer):
        try:
            connection.sendall(answer)
        except OSError:
            return False
        return True

    def answer(self, words):
        name = words[0].upper()
        if name == b"FAKE":
            return self.control(words)
        answer = self.command(words)
        if name != self.cut:
            return answer
        self.cut = None
        return None

    def command(self, words):
        name = words[0].upper()
        self.seen.append(b" ".join(words if name != b"EVAL" else [name] + words[3:]))
        method = getattr(self.store, name.decode("latin-1"), None) if name.isupper() else None
        if method is None or name == b"FIND":
            shown = b" ".join(b"'%s'" % word for word in words[1:])
            return b"-ERR unknown command '%s', with args beginning with: %s\r\n" % (words[0], shown)
        try:
            return method(*words[1:])
        except Refuse as refused:
            return refused.args[0]
        except TypeError:
            return b"-ERR wrong number of arguments for '%s' command\r\n" % words[0].lower()

    def control(self, words):
        if words[1].upper() == b"SEEN":
            return array([bulk(one) for one in self.seen])
        self.cut = words[2].upper()
        return OK


def parse(buffer):
    """The first request of `buffer` (None: not whole yet), and the rest of it."""
    end = buffer.find(b"\r\n")
    if end < 0:
        return None, buffer
    words, at = [], end + 2
    for _ in range(int(buffer[1:end])):
        end = buffer.find(b"\r\n", at)
        if end < 0:
            return None, buffer
        size = int(buffer[at + 1:end])
        if len(buffer) < end + 2 + size + 2:
            return None, buffer
        words.append(buffer[end + 2:end + 2 + size])
        at = end + 2 + size + 2
    return words, buffer[at:]


if __name__ == "__main__":
    server = Server()
    server.announce(sys.argv[1] if len(sys.argv) > 1 else None)
    server.run()
