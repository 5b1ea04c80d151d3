"""Runs the command, each time in a process of its own, or as children of a server (command_server.cpp), in an eighth of the time."""

import contextlib
import json
import os
import re
import resource
import select
import signal
import subprocess
import time

SECONDS = 60  # longest a command may take
NOTHING = "/dev/null"
MEMORY = 4 << 30
# Texts of C++ libraries, from which nobody can tell what happened, where, and what was needed.
BARE = re.compile(r"\b(std|vector|basic_\w+|deque|list|map|set|bitset|array|optional|variant|any|caf|nlohmann)::|\b_\w*::|_M_\w+|bad_alloc"
                  r"|\bbad[ _](array|optional|variant|function|any|weak)|\bsto(i|l|ll|ul|ull|f|d|ld)\b|json\.exception|regex_error"
                  r"|filesystem error|iostream error|unknown (error|exception)|what\(\)", re.IGNORECASE)  # fmt: skip


class Done:
    """How a command ended: `code` is -N where signal N ended it."""

    def __init__(self, arguments, code, stdout, stderr):
        self.arguments, self.code, self.stdout, self.stderr = arguments, code, stdout, stderr

    def __str__(self):
        return f"leat {' '.join(self.arguments)}\nexit code {self.code}\n{self.stderr}"

    def is_clear_error(self):
        """Whether it printed notices, then the error: a line, or a list, that names the command and what was got, in leat's own words;
        after bad usage comes where to look."""
        about, lines = f"leat {self.arguments[0]}: ", self.stderr.splitlines()
        if self.code == 2 and lines[-1:] == [f'Try "leat {self.arguments[0]} --help".']:
            lines.pop()
        while lines and lines[-1].startswith("  "):
            lines.pop()
        notices = all(x.startswith((about, "leat: ")) for x in lines)
        own_words = re.sub(r'"[^"\n]*"', '""', self.stderr)  # without quotations from the pipeline's text
        says = ", got " in self.stderr and not BARE.search(own_words)
        return self.code in (1, 2) and notices and bool(lines) and lines[-1].startswith(about) and says


class Late(Exception):
    """A command that does not end."""


class Commands:
    """Where commands run. `scratch`: a folder for what they print."""

    def __init__(self, program, scratch):
        self.program, self.scratch, self.others = program, scratch, []
        self.stdout, self.stderr = os.path.join(scratch, "stdout"), os.path.join(scratch, "stderr")

    def run(self, *arguments, stdin=NOTHING, watch=None):
        """Calls `watch` now and then with a function that kills the command, until it returns False."""
        return self.run_together([(arguments, watch)], stdin)[0]

    def run_together(self, starts, stdin=NOTHING):
        """Runs several commands at the same time; `starts` has (arguments, watch) for each."""
        while len(self.others) + 1 < len(starts):
            scratch = os.path.join(self.scratch, str(len(self.others)))
            os.mkdir(scratch)
            self.others.append(type(self)(self.program, scratch))
        running = [Running(x, *start, stdin) for x, start in zip([self, *self.others], starts)]
        end = time.monotonic() + SECONDS
        seconds = 0.001 / len(running) if len(running) > 1 or running[0].watch else 1
        while not all([x.has_ended(seconds) for x in running]):
            if time.monotonic() > end:
                late = [x.stop() for x in running if x.done is None]
                raise Late(f"leat {' '.join(late[0])} takes more than {SECONDS} s")
        return [x.done for x in running]

    def stop(self):
        for x in self.others:
            x.stop()


class Running:
    """A command that is running."""

    def __init__(self, commands, arguments, watch, stdin):
        self.commands, self.arguments, self.watch = commands, [str(x) for x in arguments], watch
        self.pid, self.done = commands.start(self.arguments, stdin), None

    def has_ended(self, seconds):
        """Waits at most this long."""
        if self.done is None and self.commands.has_ended(seconds):
            self.done = Done(self.arguments, self.commands.code, text_of(self.commands.stdout), text_of(self.commands.stderr))
        elif self.done is None and self.watch and not self.watch(lambda: kill(self.pid)):
            self.watch = None
        return self.done is not None

    def stop(self):
        kill(self.pid)
        self.commands.has_ended(SECONDS)
        return self.arguments


class Processes(Commands):
    def start(self, arguments, stdin):
        with open(stdin, "rb") as read, open(self.stdout, "wb") as out, open(self.stderr, "wb") as err:
            self.process = subprocess.Popen([self.program, *arguments], stdin=read, stdout=out, stderr=err, preexec_fn=limit_memory)
        return self.process.pid

    def has_ended(self, seconds):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.code = self.process.wait(seconds)
            return True
        return False


class Server(Commands):
    def __init__(self, program, scratch):
        super().__init__(program, scratch)
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, preexec_fn=limit_memory
        )
        self.come = b""

    def start(self, arguments, stdin):
        request = {"arguments": arguments, "stdin": stdin, "stdout": self.stdout, "stderr": self.stderr}
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return self.answer(SECONDS)["pid"]

    def has_ended(self, seconds):
        answer = self.answer(seconds)
        self.code = answer and answer["status"]
        return answer is not None

    def answer(self, seconds):
        """None if it does not come in time."""
        while b"\n" not in self.come:
            if not select.select([self.process.stdout], [], [], seconds)[0]:
                return None
            self.come += self.process.stdout.read(4096)
        line, _, self.come = self.come.partition(b"\n")
        return json.loads(line)

    def stop(self):
        super().stop()
        self.process.stdin.close()
        self.process.wait(SECONDS)


def limit_memory():
    """Limits memory, so that a pipeline of 2^32 rows does not harm others. Sanitizers need the whole address space."""
    if "ASAN_OPTIONS" not in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def kill(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def text_of(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
