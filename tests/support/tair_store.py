# SPDX-License-Identifier: Apache-2.0
"""The keys of fake_tair.py, and what each command does with them: its answer, with the bytes of the module."""
import time

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


def bulk_or_nil(text):
    return NIL if text is None else bulk(text)


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

    def members(self, key, kind):
        value = self.find(key, kind)
        return value.data if value else {}

    def put(self, key, kind, pairs):
        """Into a hash or sorted set: how many are new."""
        value = self.find(key, kind)
        if not value:
            value = self.keys[key] = Value(kind, {})
        new = len(set(pairs) - set(value.data))
        value.data.update(pairs)
        return integer(new)

    def remove(self, key, kind, names):
        members = self.members(key, kind)
        gone = sum(1 for name in names if members.pop(name, None) is not None)
        if key in self.keys and not members:
            del self.keys[key]
        return integer(gone)

    def HSET(self, key, *words):
        return self.put(key, "hash", dict(zip(words[::2], words[1::2])))

    def GET(self, key):
        value = self.find(key, "string")
        return bulk_or_nil(value and value.data)

    def MGET(self, *keys):
        return array([self.GET(key) for key in keys])

    def SET(self, key, data, *words):
        options = Options(words, SET_OPTIONS)
        if options.condition == b"NX" and self.find(key) or options.condition == b"XX" and not self.find(key):
            return NIL
        self.keys[key] = Value("string", data, options.ends)
        return OK

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
        return bulk_or_nil(self.members(key, "hash").get(field))

    def HDEL(self, key, *fields):
        return self.remove(key, "hash", fields)

    def HMGET(self, key, *fields):
        return array([self.HGET(key, field) for field in fields])

    def HGETALL(self, key):
        return array([bulk(word) for pair in self.members(key, "hash").items() for word in pair])

    def HKEYS(self, key):
        return array([bulk(field) for field in self.members(key, "hash")])

    def HLEN(self, key):
        return integer(len(self.members(key, "hash")))

    def HEXISTS(self, key, field):
        return integer(1 if field in self.members(key, "hash") else 0)

    def HINCRBY(self, key, field, by):
        new = int(self.members(key, "hash").get(field, b"0")) + int(by)
        self.HSET(key, field, b"%d" % new)
        return integer(new)

    def ZADD(self, key, score, member):
        return self.put(key, "zset", {member: float(score)})

    def ZREM(self, key, *members):
        return self.remove(key, "zset", members)

    def ZSCORE(self, key, member):
        score = self.members(key, "zset").get(member)
        return bulk_or_nil(None if score is None else b"%.17g" % score)

    def up_to(self, key, most):
        return sorted((score, member) for member, score in self.members(key, "zset").items() if score <= float(most))

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
