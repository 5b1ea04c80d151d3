"""Finds classes with very many member functions or fields in C++ headers. It reads what clang-format has laid out, and takes no
account of macros or of types that are declared inside a member function."""

import re

DECLARES_NOTHING = re.compile(r"(using|friend|typedef|static constexpr|static inline|class \w+$|struct \w+$|enum\b)")
HEAD = re.compile(r"\b(?:class|struct)\s+(?:LEAT_API\s+|alignas\(\d+\)\s+)*(\w+)[^;()=]*$")
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
REASON = "Large because"


def plain(text):
    """Without comments, the contents of literals, and what clang is told of mutexes."""
    text = re.sub(r"//.*|/\*.*?\*/", "", text)
    text = re.sub(r"\s*\bLEAT_(GUARDED_BY|REQUIRES)\(\w+\)", "", text)
    return re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])\'', '""', text)


def is_function(declaration):
    declaration = declaration.split(" = ")[0]  # an initializer may call one
    while True:
        shorter = TEMPLATE_ARGUMENTS.sub("", declaration)
        if shorter == declaration:
            return "(" in declaration
        declaration = shorter


class Scope:
    def __init__(self, name):
        self.name, self.functions, self.fields = name, 0, 0

    def add(self, declaration, has_body):
        declaration = re.sub(r"^((public|private|protected)\s*:\s*)+", "", declaration.strip())
        if not declaration or DECLARES_NOTHING.match(declaration) or re.search(r"= (default|delete)$", declaration):
            return
        if is_function(declaration):
            self.functions += 1
        elif not has_body or not HEAD.search(declaration):
            self.fields += 1


def sizes(text):
    """(name, member functions, fields) of each class; special members that are defaulted or deleted do not count."""
    scopes, found, declaration = [], [], ""
    for c in plain(text):
        if c == "{":
            head = HEAD.search(declaration)
            is_class = head and not re.search(r"\benum\b", declaration)
            scopes.append((Scope(head[1]) if is_class else None, declaration))
            declaration = ""
        elif c == "}" and scopes:
            scope, before = scopes.pop()
            if scope:
                found.append((scope.name, scope.functions, scope.fields))
            # A function's body ends its declaration; an initializer does not.
            in_class = scopes and scopes[-1][0]
            if in_class and not scope and is_function(before):
                scopes[-1][0].add(before, True)
                declaration = ""
            else:
                declaration = before if in_class and not scope and "namespace" not in before else ""
        elif c == ";":
            if scopes and scopes[-1][0]:
                scopes[-1][0].add(declaration, False)
            declaration = ""
        else:
            declaration += c
    return found


def has_reason(text, name):
    """The comment right before the class says why it is large."""
    before = re.split(rf"\n(?:class|struct)\s+(?:LEAT_API\s+)?{name}\b[^;]*?{{", text)[0]
    comment = re.search(r"((?:[ \t]*///.*\n?)+)$", before)
    return bool(comment) and REASON in re.sub(r"\s*///\s*", " ", comment[1])


def reasons(text):
    """How many classes of a header say why they are large."""
    return len(re.findall(r"Large\s+because", re.sub(r"\n\s*///", " ", text)))


def large_classes(text, most_functions, most_fields):
    for name, functions, fields in sizes(text):
        is_list = functions == 0  # of options or counts: each is read by itself
        if (functions > most_functions or fields > most_fields) and not is_list and not has_reason(text, name):
            yield (
                f"{name} has {functions} member functions and {fields} fields, at most {most_functions} and {most_fields} unless "
                f'the comment before it says "{REASON} ..."'
            )
