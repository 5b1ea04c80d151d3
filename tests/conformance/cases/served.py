"""The data sets on a server that is a web server and a bucket, and fails now and then; and pipelines that read them there.

The server answers requests for ranges and for lists of S3, and checks no signatures: tests/support/s3_service.hpp does. One answer in
FAULTS is wrong in a way that must be noticed and made good. An answer that contradicts itself is given once for each place of a file:
after three of them a job ends, as it should.
"""

import copy
import os
import random
import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote_plus, unquote, urlsplit
from xml.sax.saxutils import escape

FAULTS = 25
CONTRADICTIONS = ("short", "shifted", "whole")
KINDS = ("cut", "reset", "busy", "busy", "too many", *CONTRADICTIONS)
BUCKET = "bucket"
NAMES_PER_PAGE = 3
PATTERN = frozenset("*?[")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        target = urlsplit(self.path)
        path = unquote(target.path).lstrip("/").removeprefix(BUCKET).lstrip("/")
        begin, end = self.wanted()
        fault = self.server.drawn_fault(path, begin)
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
        elif fault == "busy":
            self.say("503 Slow Down", {"Retry-After": "0"}, b"<Error><Code>SlowDown</Code></Error>")
        elif fault == "too many":
            self.say("429 Too Many Requests", {}, b"")
        elif target.query:
            self.say("200 OK", {}, listing({name: x[0] for name, x in parse_qs(target.query, keep_blank_values=True).items()}))
        elif not os.path.isfile(path):
            self.say("404 Not Found", {}, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            self.say_part(path, begin, end, fault)

    def wanted(self):
        range = self.headers.get("Range")
        if not range:
            return 0, None
        begin, _, last = range.removeprefix("bytes=").partition("-")
        return int(begin), int(last) + 1

    def say_part(self, path, begin, end, fault):
        with open(path, "rb") as file:
            content = file.read()
        version = {"ETag": etag(len(content))}
        if self.headers.get("If-Match", version["ETag"]) != version["ETag"]:
            return self.say("412 Precondition Failed", {}, b"")
        if end is None or fault == "whole":
            return self.say("200 OK", version, content)
        end = min(end, len(content))
        if begin >= end:
            return self.say("416 Range Not Satisfiable", {"Content-Range": f"bytes */{len(content)}"}, b"")
        if fault == "shifted" and begin > 0:
            begin, end = begin - 1, end - 1
        if fault == "short" and end - begin > 1:
            end -= (end - begin) // 2
        place = {"Content-Range": f"bytes {begin}-{end - 1}/{len(content)}"}
        return self.say("206 Partial Content", version | place, content[begin:end], fault == "cut")

    def say(self, status, headers, body, is_cut=False):
        head = "".join(f"{name}: {x}\r\n" for name, x in {**headers, "Content-Length": len(body)}.items())
        self.wfile.write(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + (body[: len(body) // 2] if is_cut else body))
        self.close_connection |= is_cut


class DataServer(ThreadingHTTPServer):
    """Serves the working directory, at "/" and as a bucket."""

    daemon_threads = True
    request_queue_size = 512

    def __init__(self, seed):
        super().__init__(("127.0.0.1", 0), Handler)
        self.random, self.contradicted, self.lock = random.Random(seed), set(), threading.Lock()
        self.address = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def drawn_fault(self, path, begin):
        with self.lock:
            fault = self.random.choice(KINDS) if self.random.randrange(FAULTS) == 0 else None
            if fault in CONTRADICTIONS:
                fault = None if (path, begin) in self.contradicted else fault
                self.contradicted.add((path, begin))
            return fault

    def handle_error(self, *_):
        pass  # commands are killed


def etag(size):
    return f'"{size}-1"'


def listing(how):
    """What ListObjectsV2 says of the files below a prefix; folders end with "/"."""
    prefix, found = how["prefix"], {}
    for folder, _, files in os.walk(os.path.dirname(prefix) or "."):
        for file in files:
            key = os.path.relpath(os.path.join(folder, file), ".")
            if key.startswith(prefix):
                rest, slash, _ = key[len(prefix) :].partition("/")
                found[prefix + rest + slash] = None if slash else os.path.getsize(key)
    names = sorted((x for x in found if x > how.get("continuation-token", "")), key=os.fsencode)
    text = '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><EncodingType>url</EncodingType>'
    for x in names[:NAMES_PER_PAGE]:
        name, size = quote_plus(x, safe="/"), found[x]
        if size is None:
            text += f"<CommonPrefixes><Prefix>{name}</Prefix></CommonPrefixes>"
        else:
            text += f"<Contents><Key>{name}</Key><Size>{size}</Size><ETag>{escape(etag(size))}</ETag></Contents>"
    more = names[NAMES_PER_PAGE:]
    text += f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>"
    if more:
        text += f"<NextContinuationToken>{escape(names[NAMES_PER_PAGE - 1])}</NextContinuationToken>"
    return (text + "</ListBucketResult>").encode()


class Places:
    """Where pipelines read: files of this machine, a web server, or a bucket, as it is drawn for each source."""

    def __init__(self, seed, scratch):
        self.web = DataServer(seed).address
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "LEAT_CACHE"):
            os.environ.pop(name, None)
        os.environ |= {"AWS_ENDPOINT_URL": self.web, "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "s/e+cret", "AWS_REGION": "us-east-1",
                       "no_proxy": "127.0.0.1", "XDG_CACHE_HOME": scratch}  # fmt: skip

    def drawn(self, tree, rng):
        """The same pipeline, with its data somewhere."""
        moved = copy.deepcopy(tree)
        for node in {id(x): x for x in moved.below()}.values():
            # A new dictionary: nodes may share one.
            node.options = node.options | self.moved(node.op, node.options, rng)
        return moved

    def moved(self, op, o, rng):
        """The options that change."""
        if op == "image_folder":
            return {"directory": self.place(rng, False) + o["directory"]}
        if op == "raw_records":
            return {"path": self.place(rng) + o["path"]}
        if op == "read_files" and o.get("folder"):
            return {"folder": self.place(rng) + o["folder"]}
        if "patterns" in o:
            at = self.place(rng, PATTERN.isdisjoint("".join(o["patterns"])))
            return {"patterns": [at + x for x in o["patterns"]]}
        return {}

    def place(self, rng, has_names=True):
        """`has_names`: no list of files is needed, which a web server does not have."""
        return rng.choice(("", f"s3://{BUCKET}/", f"s3://{BUCKET}/", *([f"{self.web}/"] * 2 if has_names else [])))
