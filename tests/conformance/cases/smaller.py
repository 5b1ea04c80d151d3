"""Makes failing cases smaller."""

import contextlib

from cases.judge import NoCase
from plain.text_form import JOINS, Node

PLAIN_ATTEMPT = {"kill": None, "world": 1, "workers": 0, "dispatch": "on_demand", "resizes": [], "die": [], "tell_again": True,
                 "damage": None, "apart": False, "late": None}  # fmt: skip
TRIES = 250  # at making a failing case smaller
LEAST = {"records": 0, "n": 0, "bytes": 1, "rows": 1, "lanes": 0, "window": 1, "seed": 0, "bins": 1, "ranges": 1, "salt": 0}
SIMPLE = {"kind": "full", "end": "drop", "fields": [], "file_order": "stored", "weights": [], "rule": "deficit",
          "stop": "all", "cost": "", "delimiter": [], "pad": 0,
          "max_repeats": 0, "schedule_by": "steps"}  # fmt: skip


def smaller_values(name, value):
    if name in LEAST and isinstance(value, int):
        return [x for x in dict.fromkeys((LEAST[name], 1, value // 2, value - 1)) if LEAST[name] <= x < value]
    return [SIMPLE[name]] if name in SIMPLE and value != SIMPLE[name] else []


def without_input(node, i):
    others = node.inputs[:i] + node.inputs[i + 1 :]
    weights = node.options.get("weights", [])
    options = {**node.options, "weights": weights[:i] + weights[i + 1 :]} if weights else node.options
    return Node(node.op, options, others)


def smaller_trees(node):
    """Trees with one operator or input less, or a smaller number."""
    if node.op != "batch":
        yield from node.inputs
    for i, child in enumerate(node.inputs):
        if len(node.inputs) > 1 and node.op in JOINS:
            yield without_input(node, i)
        for x in smaller_trees(child):
            yield Node(node.op, node.options, node.inputs[:i] + [x] + node.inputs[i + 1 :])
    if not node.inputs and node.op != "count":
        yield Node("count", {"records": 5, "bytes": 8}, [])
    for name, value in node.options.items():
        for x in smaller_values(name, value):
            if (node.op, name, x) not in (("repeat", "n", 0), ("map", "fields", [])):
                yield Node(node.op, {**node.options, name: x}, node.inputs)


def smaller_jobs(job):
    attempts = job["attempts"]
    for i, x in enumerate(attempts):
        if i + 1 < len(attempts):
            yield {**job, "attempts": attempts[:i] + attempts[i + 1 :]}
        for name, plain in PLAIN_ATTEMPT.items():
            if x[name] != plain:
                yield {**job, "attempts": attempts[:i] + [{**x, name: plain}] + attempts[i + 1 :]}
        for n in range(len(x["die"])):
            yield {**job, "attempts": attempts[:i] + [{**x, "die": x["die"][:n] + x["die"][n + 1 :]}] + attempts[i + 1 :]}
    if job["epochs"] and job["epochs"] > 1:
        yield {**job, "epochs": 1}
    if job["steps"] and job["steps"] > 1:
        yield {**job, "steps": job["steps"] // 2}
        yield {**job, "steps": job["steps"] - 1}
    for name, plain in (("throw", None), ("leave_out", []), ("bad", "fail"), ("own_logs", True)):
        if job[name] != plain:
            yield {**job, name: plain}


def smaller_cases(case):
    if case.raw is not None:
        size = max(1, len(case.raw) // 2)
        while size:
            for at in range(0, len(case.raw), size):
                yield case.but(raw=case.raw[:at] + case.raw[at + size :])
            size //= 2
        return
    if case.style is not None:
        yield case.but(style=None)
    for i, job in enumerate(case.jobs):
        yield case.but(jobs=case.jobs[:i] + case.jobs[i + 1 :])
        for x in smaller_jobs(job):
            yield case.but(jobs=case.jobs[:i] + [x] + case.jobs[i + 1 :])
    for i in range(len(case.epochs)):
        yield case.but(epochs=case.epochs[:i] + case.epochs[i + 1 :])
    if case.steps is not None:
        for steps in smaller_values("n", case.steps):
            yield case.but(steps=max(1, steps))
    for tree in smaller_trees(case.tree):
        yield case.but(tree=tree)


def shrink(case, failure, judge):
    """The smallest case that is found to fail in the same way, and how."""
    tries, going = 0, True
    while going:
        going = False
        for x in smaller_cases(case):
            tries += 1
            if tries > TRIES:
                break
            with contextlib.suppress(NoCase, LookupError):
                other = judge.failure_of(x)
                if other and other.kind == failure.kind:
                    case, failure, going = x, other, True
                    break
    return case, failure
