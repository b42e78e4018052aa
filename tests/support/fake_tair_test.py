#!/usr/bin/python3 -SE
# SPDX-License-Identifier: Apache-2.0
"""fake_tair.py answers byte for byte as the TairString module was seen to."""
import os
import socket
import subprocess
import sys

FAKE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_tair.py")
SYNTAX = b"-ERR syntax error\r\n"
WRONG = b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"

ROWS = [
    ("EXSET rk tok NX PX 30000", b"+OK\r\n"),
    ("EXSET rk tok NX PX 30000", b"$-1\r\n"),
    ("EXGET rk", b"*2\r\n$3\r\ntok\r\n:1\r\n"),
    ("EXGET missing", b"$-1\r\n"),
    ("EXGET rk WITHFLAGS", b"*3\r\n$3\r\ntok\r\n:1\r\n:0\r\n"),
    ("EXCAS rk tok 1 PX 30000", b"*3\r\n+OK\r\n+\r\n:2\r\n"),
    ("EXCAS rk tok 1 PX 30000", b"*3\r\n+CAS_FAILED\r\n$3\r\ntok\r\n:2\r\n"),
    ("EXCAS missing tok 1 PX 30000", b":-1\r\n"),
    ("EXCAD rk 9", b":0\r\n"),
    ("TYPE rk", b"+exstrtype\r\n"),
    ("EXCAD rk 2", b":1\r\n"),
    ("EXCAD rk 2", b":-1\r\n"),
    ("EXSET v1 v VER 7", b"+OK\r\n"),
    ("EXGET v1", b"*2\r\n$1\r\nv\r\n:1\r\n"),
    ("EXSET v1 v VER 7", b"-ERR update version is stale\r\n"),
    ("EXSET a tok NX PX 30000 ABS 4503599627370496", b"+OK\r\n"),
    ("EXGET a", b"*2\r\n$3\r\ntok\r\n:4503599627370496\r\n"),
    ("EXSET w v WITHVERSION", b":1\r\n"),
    ("EXSET e v EX 0", SYNTAX),
    ("EXSET e v PX 0", SYNTAX),
    ("EXSET e v VER -1", SYNTAX),
    ("EXSET e v VER x", SYNTAX),
    ("EXSET e v NX XX", SYNTAX),
    ("EXSET e v VER 1 ABS 1", SYNTAX),
    ("EXSET e v EX 1 PX 1", SYNTAX),
    ("EXCAS a v x", b"-ERR version should be integer\r\n"),
    ("HSET h f v", b":1\r\n"),
    ("EXGET h", WRONG),
    ("GET a", WRONG),
    ("SET s v", b"+OK\r\n"),
    ("EXCAS s v 1 PX 1", WRONG),
    ("SET a v NX PX 1", b"$-1\r\n"),
    ("SET a v", b"+OK\r\n"),
    ("EXINCRBY st -5 MIN 0", b"-ERR increment or decrement would overflow\r\n"),
    ("EXISTS st", b":0\r\n"),
    ("EXINCRBY st 3", b":3\r\n"),
    ("EXINCRBY st -7 NONEGATIVE", b":0\r\n"),
    ("EVAL return{redis.call('SET',KEYS[1],ARGV[1],'PX',30000),redis.call('GET',KEYS[1])} 1 script v",
     b"*2\r\n+OK\r\n$1\r\nv\r\n"),
    ("EVAL return{redis.call('GET','missing'),redis.call('PTTL','missing'),2.9,true} 0", b"*4\r\n$-1\r\n:-2\r\n:2\r\n:1\r\n"),
    ("EVAL redis.call('HGET',KEYS[1],'f') 1 script", WRONG),
    ("EVAL return(redis.pcall('HGET',KEYS[1],'f').err) 1 script", b"$%d\r\n%s\r\n" % (len(WRONG) - 3, WRONG[1:-2])),
    ("EVAL redis.call('HSET','r','f','v')return(redis.call('PEXPIRE','r',30000)) 0", b":1\r\n"),
    ("HGET r f", b"$1\r\nv\r\n"),
    ("HDEL r f g", b":1\r\n"),
    ("EXISTS r", b":0\r\n"),
    ("EXCAS", b"-ERR wrong number of arguments for 'excas' command\r\n"),
    ("NOSUCH x", b"-ERR unknown command 'NOSUCH', with args beginning with: 'x'\r\n"),
]


def request(text):
    words = [word.encode() for word in text.split()]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def main():
    fake = subprocess.Popen([FAKE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    port = int(fake.stdout.readline().split()[1])
    failed = 0
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        for text, expected in ROWS:
            connection.sendall(request(text))
            answer = connection.recv(65536)
            if answer != expected:
                failed += 1
                print(f"{text}: {answer!r} instead of {expected!r}")
        connection.sendall(request("FAKE CUT SET"))
        connection.recv(65536)
        connection.sendall(request("SET cut v"))
        if connection.recv(65536) != b"":
            failed += 1
            print("a command that is cut was answered")
    fake.stdin.close()
    fake.wait(5)
    print(f"{len(ROWS) + 1 - failed} of {len(ROWS) + 1} answers as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
