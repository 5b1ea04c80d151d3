"""Trees as text: plain, or in one of the many ways to write a pipeline."""

import random

from plain.text_form import FUNCTION_CALLS, JOINS, OPTIONS


def value_text(x):
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, list):
        return "[" + ", ".join(map(value_text, x)) + "]"
    return '"' + x.replace("\\", "\\\\").replace('"', '\\"') + '"' if isinstance(x, str) else str(x)


def argument_texts(node, rng):
    """A call's arguments; with `rng` in one of the many ways to write them."""
    options = dict(node.options)
    patterns = options.pop("patterns", [])
    first = [value_text(x) for x in (patterns if isinstance(patterns, list) else [patterns])]
    only_names = bool(first) or node.op in (*FUNCTION_CALLS, *JOINS)
    if node.op in FUNCTION_CALLS:
        first.append(value_text(options.pop("name")))
    in_order = rng.randint(0, len(options)) if rng and not only_names else 0
    by_name = list(options.items())[in_order:]
    if rng:
        rng.shuffle(by_name)
        defaults = OPTIONS[node.op]
        by_name = [(name, x) for name, x in by_name if x != defaults.get(name) or rng.random() < 0.5]
    first += [value_text(x) for x in list(options.values())[:in_order]]
    return first + [f"{name}={value_text(x)}" for name, x in by_name]


def pipeline_text(tree, style):
    """The text form. `style` is a seed for names, comments and line breaks; None: plain."""
    rng = random.Random(style) if style is not None else None
    lines, named = [], {}

    def expression(node):
        if id(node) in named:
            return named[id(node)]
        inputs = [expression(x) for x in node.inputs]
        joins = node.op in JOINS
        arguments = (inputs if joins else []) + argument_texts(node, rng)
        text = f"{node.op}({', '.join(arguments)}{',' if rng and arguments and rng.random() < 0.1 else ''})"
        if inputs and not joins:
            text = inputs[0] + (rng.choice((".", "\n  .", " . ")) if rng else ".") + text
        if rng and node is not tree and rng.random() < 0.15:
            named[id(node)] = f"name_{len(named)}"
            lines.append(f"{named[id(node)]} = {text} # a name, (with. a \"comment\"")
            return named[id(node)]
        return text

    root = expression(tree)
    return "\n".join(lines + [root]) + "\n"
