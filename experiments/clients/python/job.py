"""What the Python clients share: jobs and records as ../driver/driver.go describes them."""

import json
import sys
import zlib

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def key(i):
    return b"k%d" % i


def value(i):
    return None if i % 1000 == 999 else b"%d:" % i + b"abcdefghij" * (i % 13)


class Tally:
    """One partition in the order in which it is read, or acknowledged."""

    def __init__(self, job):
        self.start = job["start"]
        self.result = {"count": 0, "first": -1, "last": -1, "sum": 0, "stamps": 0, "gaps": 0}

    def add(self, offset, timestamp, key, value, headers):
        r = self.result
        if r["count"] and offset != r["last"] + 1:
            r["gaps"] += 1
        self.acked(offset)
        named = len(headers) == 1 and headers[0][0] == "topic"
        header = headers[0][1] if named else repr(headers).encode()
        value = b"~" if value is None else value
        r["sum"] = zlib.crc32(b"%s=%s;%s\n" % (key, value, header), r["sum"])
        r["stamps"] += timestamp - self.start

    def acked(self, offset):
        r = self.result
        r["first"] = offset if r["first"] < 0 else min(r["first"], offset)
        r["last"] = max(r["last"], offset)
        r["count"] += 1


def tallies(job):
    return [Tally(job) for _ in range(job["partitions"])]


def serve(client, version, produce, consume, idempotent=True):
    """Says hello, by the name that is the first argument if there is one, and does the jobs of standard input until it
    ends. Both functions take a job and return its tallies."""
    client = sys.argv[1] if len(sys.argv) > 1 else client
    say({"client": client, "version": version, "codecs": CODECS, "idempotent": idempotent, "reads": True, "stamps": True})
    for line in sys.stdin:
        job = json.loads(line)
        try:
            done = (produce if job["op"] == "produce" else consume)(job)
            say({"partitions": [t.result for t in done]})
        except Exception as e:
            say({"error": repr(e)})


def say(what):
    print(json.dumps(what), flush=True)
