"""Weights of a mix: docs/iterators.md, "mix"."""

import math
import re
from decimal import Decimal

LIMIT = 2**32  # sums are below it
NUMBER = re.compile(r" *(-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) *")


class BadWeights(Exception):
    """No weights of a mix."""


def whole_weights(weights):
    """Whole numbers in the ratios of these: exactly if the decimals allow it, else rounded."""
    weights = [float(x) for x in weights]
    if any(x < 0 or not math.isfinite(x) for x in weights) or not any(weights):
        raise BadWeights(weights)
    decimals = [Decimal(repr(x)).normalize() for x in weights]
    least = min([0, *(x.as_tuple().exponent for x in decimals if x)])
    exact = [int(x.scaleb(-least)) for x in decimals]
    if sum(exact) < LIMIT:
        return exact
    return rounded([x / max(weights) for x in weights], weights, (LIMIT - 1) // len(weights))


def tempered(weights, temperature):
    if not (temperature > 0 and math.isfinite(temperature)):
        raise BadWeights(temperature)
    if not weights or temperature == 1:
        return weights
    parts = [math.pow(x / max(weights), 1 / temperature) if x else 0.0 for x in weights]
    return rounded(parts, weights, 2**20)


def rounded(parts, weights, scale):
    result = [round(x * scale) for x in parts]
    if any(w > 0 and x == 0 for w, x in zip(weights, result)) or sum(result) >= LIMIT:
        raise BadWeights(weights)
    return result


def read_phase(text):
    """(step, weights) of "1000: 0.7, 0.2, 0.1"."""
    step, _, rest = text.partition(":")
    numbers = [NUMBER.fullmatch(x) for x in rest.split(",")]
    if not re.fullmatch(r" *\d+ *", step, re.ASCII) or int(step) >= 2**64 or not all(numbers):
        raise BadWeights(text)
    return int(step), [float(x[1]) for x in numbers]


def phases(node):
    """(step, weights)s of a mix, by rising steps, from step 0 on."""
    o, inputs = node.options, len(node.inputs)

    def made(weights):
        if len(weights) != inputs:
            raise BadWeights(weights)
        return tempered(whole_weights(weights), o["temperature"])

    tempered([], o["temperature"])
    result = [(0, made(o["weights"]) if o["weights"] else [1] * inputs)]
    for step, weights in map(read_phase, o["schedule"]):
        if step <= result[-1][0]:
            raise BadWeights(o["schedule"])
        result.append((step, made(weights)))
    return result


class Clock:
    """How many items a lane gave in the epoch, and so the step that it is at. `changes`: a job's own (step, weights)s."""

    def __init__(self, items_per_step, changes=()):
        self.items, self.items_per_step, self.changes = 0, items_per_step, changes

    def counted(self, items):
        for x in items:
            yield x
            self.items += 1

    def phase(self, planned):
        """Which of these phases and of the job's changes is in effect: if two begin together, the change."""
        step = self.items // self.items_per_step
        return max([x for x in planned if x[0] <= step] + [x for x in self.changes if x[0] <= step], key=lambda x: (x[0], x in self.changes))
