"""Loaders of a cluster: signals and other threads that end what waits for ranks, ends of loaders and processes, and forks."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cluster_bench import Job, check_sums, total, whole
from cluster_jobs import WAITS_AT

STARTS = Path(__file__).with_name("cluster_starts")


# Waits that signals end


@pytest.mark.parametrize("call", ["loader.restore(options.sets)", "loader.join()", "loader.next()"])
def test_ctrl_c_while_ranks_are_missing(call: str, job: Job) -> None:
    """What was interrupted is called again, or restore(), and then all ranks are there."""
    text = f"""
loader = options.loader()
for _ in range(2):
    try:
        when_in_call()
        {call}
    except KeyboardInterrupt:
        tell("interrupted", loader.position().global_step)
loader.restore(options.sets)
steps = []
for batch in loader:
    steps.append(batch.global_step)
    if len(steps) % SAVE_EVERY == 0:
        loader.save(options.sets, batch)
    if len(steps) == WAITS_AT:
        loader.wait_saved()
        tell(f"epoch-0-step-{WAITS_AT}.of-2" in os.listdir(options.sets))
loader.finish()
tell(steps == [*range(loader.position().global_step)])
"""
    first = job.start_text(text, 0, 2)
    for _ in range(2):
        assert first.line() == "ready"
        first.interrupt()
        assert first.line() == "interrupted 0"
    job.options = replace(job.options, pipeline="dropping", world_size=2)
    job.start(1)
    assert job.lines(0)[-2:] == ["True", "True"]
    assert job.end(1)["began_at"] == 0


@pytest.mark.parametrize("ending", ["", "loader.close()", "sys.exit(0)", "del loader"])
def test_a_process_ends_after_a_ctrl_c_while_ranks_are_missing(ending: str, job: Job) -> None:
    text = f"""
loader = options.loader()
try:
    when_in_call()
    loader.restore(options.sets)
except KeyboardInterrupt:
    tell("interrupted")
{ending}
"""
    first = job.start_text(text, 0, 2)
    assert first.line() == "ready"
    first.interrupt()
    assert job.lines(0) == ["ready", "interrupted"]


def test_ctrl_c_without_a_handler_of_the_program(job: Job) -> None:
    first = job.start_text("loader = options.loader()\nwhen_in_call()\nloader.restore(options.sets)", 0, 2)
    assert first.line() == "ready"
    first.interrupt()
    ended = first.end()
    assert ended.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in ended.stderr
    assert "Fatal" not in ended.stderr


def test_ctrl_c_while_next_waits_for_another_rank(job: Job) -> None:
    """The end of an epoch is known once the other rank has come so far. Nothing is lost, and the wait can continue."""
    text = """
loader = options.loader()
loader.restore(options.sets)
next(loader)
if rank == 1:
    tell("here")
    os.read(0, 1)
calls = 0
def watch():
    looks, before = 0, -1
    while looks < 50:
        threading.Event().wait(0.01)
        looks, before = (looks + 1 if before == calls else 0), calls
    tell("waits")
def begin():
    if rank == 0:
        threading.Thread(target=watch, daemon=True).start()
begin()
while True:
    try:
        calls += 1
        if next(loader, None) is None:
            break
    except KeyboardInterrupt:
        tell("interrupted")
        if not interrupted:
            begin()
        interrupted = True
loader.finish()
tell('{"digest": "%s"}' % loader.position().digest)
""".replace("calls = 0", "calls, interrupted = 0, False")
    first = job.start_text(text, 0, 2)
    second = job.start_text(text, 1, 2, stdin=subprocess.PIPE)
    assert second.line() == "here"
    for _ in range(2):
        assert first.line() == "waits"
        first.interrupt()
        assert first.line() == "interrupted"
    ended = second.end("on")
    assert ended.returncode == 0, ended.stderr
    assert total([json.loads(x)["digest"] for x in (ended.stdout, job.lines(0)[-1])]) == whole("dropping")


# Ends


@pytest.mark.parametrize("call", ["loader.restore(options.sets)", "loader.next()"])
def test_another_thread_ends_a_wait_for_missing_ranks(call: str, job: Job) -> None:
    text = f"""
loader = options.loader()
def interrupt():
    while not threading.Event().wait(0.2):
        loader.interrupt()
threading.Thread(target=interrupt, daemon=True).start()
for _ in range(2):
    try:
        {call}
    except leat.Error as problem:
        tell(problem.code)
"""
    job.start_text(text, 0, 2)
    assert job.lines(0) == ["interrupted"] * 2


@pytest.mark.parametrize("ending", ["", "loader.close()", "leat.shutdown()"])
def test_a_process_ends_while_a_daemon_thread_waits_for_missing_ranks(ending: str, job: Job) -> None:
    text = f"""
loader = options.loader()
def wait():
    try:
        tell("begins")
        loader.restore(options.sets)
    except leat.Error as problem:
        tell(problem.code)
threading.Thread(target=wait, daemon=True).start()
os.read(0, 1)
threading.Event().wait(0.2)
{ending}
"""
    rank = job.start_text(text, 0, 2, stdin=subprocess.PIPE)
    assert rank.line() == "begins"
    ended = rank.end("on")
    assert ended.returncode == 0, ended.stderr
    assert "Fatal" not in ended.stderr


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("wait()", 0),
        ("wait(); sys.exit(3)", 3),
        ("wait(); raise ValueError('the end')", 1),
        ("wait(); os._exit(4)", 4),
        ("wait(); loader.close()", 0),
        ("wait(); del loader", 0),
        # While both are there: after wait() the first rank's next() may wait for the second.
        ("with loader: next(loader); wait()", 0),
        ("held = [next(loader)['value'] for _ in range(2)]; wait()", 0),
        ("wait(); leat.shutdown()", 0),
    ],
)
def test_a_process_ends_in_the_middle_of_an_epoch(ending: str, code: int, job: Job) -> None:
    text = f"""
def wait():
    tell("here")
    os.read(0, 1)

loader = options.loader()
loader.restore(options.sets)
next(loader), next(loader)
{ending}
"""
    ranks = [job.start_text(text, rank, 2, stdin=subprocess.PIPE) for rank in range(2)]
    for rank in ranks:
        assert rank.line() == "here"
    for rank in reversed(ranks):  # the coordinator last
        ended = rank.end("on")
        assert ended.returncode == code, ended.stderr
        assert "Fatal" not in ended.stderr
        assert "leaked" not in ended.stderr


def test_a_closed_loader(job: Job) -> None:
    text = """
with options.loader() as loader:
    loader.restore(options.sets)
    batch = next(loader)
for call in (loader.next, loader.join, loader.finish, loader.position):
    try:
        call()
    except leat.Error as problem:
        tell(problem.code)
tell(batch["value"].shape[0], repr(loader))
"""
    job.start_text(text)
    assert job.lines(0) == ["shut_down"] * 4 + ["12 <leat.Loader, closed>"]


def test_a_loader_that_is_closed_and_made_again(job: Job) -> None:
    """Acts as if the process had been started again."""
    text = """
from cluster_jobs import main
with options.loader() as loader:
    loader.restore(options.sets)
    for _ in zip(range(10), loader):
        pass
main(options.json())
"""
    job.options = replace(job.options, pipeline="dropping", world_size=2)
    job.start(0)
    job.start_text(text, 1, 2)
    ends = job.end_all()
    assert ends[0]["regrouped"] != []
    check_sums(ends, "dropping")


def test_forks_of_a_process_that_has_joined(job: Job) -> None:
    text = """
def code_of(call):
    try:
        call()
    except leat.Error as problem:
        return problem.code
def in_child(*calls):
    child = os.fork()
    if child == 0:
        tell([code_of(x) for x in calls])
        os._exit(0)
    os.waitpid(child, 0)
loader = options.loader()
loader.restore(options.sets)
batch = next(loader)
in_child(loader.next, loader.join, loader.finish, lambda: loader.save(options.sets), loader.close, options.loader)
tell([x.global_step for x in loader] == [*range(1, loader.position().global_step)])
loader.finish()
loader.close()
leat.shutdown()
options.place += "/other"
in_child(lambda: [*leat.Loader(leat.count(8).batch(4))], lambda: options.loader().join())
options.loader().join()
tell("joined")
"""
    job.start_text(text)
    forked = "'forked'"
    assert job.lines(0) == [f"[{', '.join([forked] * 4)}, None, {forked}]", "True", "[None, 'forked']", "joined"]


def test_clusters_that_begin_and_end_over_and_over_leave_nothing() -> None:
    ended = subprocess.run([sys.executable, STARTS, "10"], capture_output=True, text=True, timeout=150)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count("ports left open: 0") == 4
