"""In a process that may have little more memory, a job ends with success or with an error. The interpreter loads leat, and what
exceptions need, later than a command does, so the C library makes what each thread needs of them at its first use.
"""

from child_process import run_python

JOB = """
import resource, sys
import leat

with open("/proc/self/statm") as file:
    now = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + int(sys.argv[1]),) * 2)
try:
    for batch in leat.Loader(leat.count(3000).batch(10), workers=3):
        pass
except (leat.Error, MemoryError):
    print("short")
else:
    print("done")
"""


def test_jobs_under_limits_of_memory_end_by_errors() -> None:
    ends = set()
    for more in range(1 << 20, 64 << 20, 1 << 20):
        ended = run_python(JOB, str(more))
        assert ended.returncode == 0, (more, ended.stderr)
        ends.add(ended.stdout.strip())
    assert ends == {"short", "done"}
