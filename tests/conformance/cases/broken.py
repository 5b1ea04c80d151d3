"""Texts of pipelines that are broken at random, and parameters at their limits and beyond."""

from plain.text_form import Node, TOKEN

NUMBERS = (0, 1, 2, 255, 256, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30, -1, -(2**63), 0.5, 1e300)
TEXTS = ("", " ", "x", "value", "a,b", "-1", "1e9", "nan", "\n", "\x00", "ü", "\udcff", "*", "[", "{1..3}", "/", "..", "x" * 300)
PIECES = (*"()[]{},.=\"#\\ \n\t\x00\x7f-+0123456789aZ_", "batch", "count", "zip", "true", "1e999", "0x10", "ü", "\udcff", '"value"', ".batch(2)",
          ".take(1)", "name_0 = ", "mix(", "18446744073709551616")  # fmt: skip


def with_extremes(rng, tree):
    """The tree with one or two of its options changed."""
    nodes = tree.below()
    chosen = {id(rng.choice(nodes)) for _ in range(rng.choice((1, 1, 2)))}

    def changed(node):
        options = dict(node.options)
        if id(node) in chosen and options:
            name = rng.choice(list(options))
            options[name] = extreme(rng, options[name])
        return Node(node.op, options, [changed(x) for x in node.inputs])

    return changed(tree)


def extreme(rng, x):
    if rng.random() < 0.1:
        return rng.choice((*NUMBERS, *TEXTS, [], [[]], True))
    if isinstance(x, bool):
        return not x
    if isinstance(x, (int, float)):
        return rng.choice((*NUMBERS, x + 1, x - 1, -x))
    if isinstance(x, str):
        return rng.choice((*TEXTS, x + "x", x[:-1]))
    return rng.choice(([], x + x, [extreme(rng, y) for y in x], x[:-1]))


def broken(rng, text):
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        cut = rng.choice((by_characters, by_words))
        text = cut(rng, text)
    return text


def by_characters(rng, text):
    at = rng.randint(0, len(text))
    length = rng.choice((0, 1, 1, 2, rng.randint(0, 30)))
    return text[:at] + rng.choice(("", rng.choice(PIECES))) + text[at + length :]


def by_words(rng, text):
    """One left out, doubled, exchanged with another, or replaced."""
    words = [x.group() for x in TOKEN.finditer(text)]
    if not words:
        return text
    i, j = rng.randrange(len(words)), rng.randrange(len(words))
    kind = rng.randrange(4)
    if kind == 0:
        del words[i]
    elif kind == 1:
        words.insert(i, words[i])
    elif kind == 2:
        words[i], words[j] = words[j], words[i]
    else:
        words[i] = rng.choice((*PIECES, *map(str, NUMBERS)))
    return "".join(words)
