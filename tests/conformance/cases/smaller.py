"""Makes failing cases smaller."""

from plain.text_form import JOINS, Node

TRIES = 250  # to make a failing case smaller
LEAST = {"records": 0, "n": 0, "bytes": 1, "rows": 1, "lanes": 0, "window": 1, "seed": 0, "bins": 1, "ranges": 1, "salt": 0}
SIMPLE = {"kind": "full", "end": "drop", "fields": [], "file_order": "stored", "weights": [], "rule": "deficit",
          "stop": "all", "cost": "", "delimiter": [], "pad": 0}  # fmt: skip


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
    """Trees with an operator or an input less, or a smaller number."""
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
    parts = job["parts"]
    for i, part in enumerate(parts):
        plain = {**part, "world": 1, "workers": 0, "dispatch": "on_demand"}
        if i + 1 < len(parts):
            yield {**job, "parts": parts[:i] + parts[i + 1 :]}
            if part["kill"]:
                yield {**job, "parts": parts[:i] + [{**part, "kill": False}] + parts[i + 1 :]}
        if part != plain:
            yield {**job, "parts": parts[:i] + [plain] + parts[i + 1 :]}
    if job["epochs"] and job["epochs"] > 1:
        yield {**job, "epochs": 1}


def smaller_cases(case):
    if case.style is not None:
        yield case.but(style=None)
    if case.job:
        yield case.but(job=None)
        for job in smaller_jobs(case.job):
            yield case.but(job=job)
    for epoch in case.epochs if len(case.epochs) > 1 else []:
        yield case.but(epochs=[epoch])
    if case.steps is not None:
        for steps in smaller_values("n", case.steps):
            yield case.but(steps=steps)
    for tree in smaller_trees(case.tree):
        yield case.but(tree=tree)


def shrink(case, failure, judge, allows):
    """The smallest case that is found to fail in the same way, and how."""
    tries, going = 0, True
    while going:
        going = False
        for x in smaller_cases(case):
            if not allows(x):
                continue
            tries += 1
            if tries > TRIES:
                break
            other = judge.failure_of(x)
            if other and other.kind == failure.kind:
                case, failure, going = x, other, True
                break
    return case, failure
