"""The public names of the C++ headers: NAME of functions and types, TYPE.NAME of members and enumerators."""

import re
from pathlib import Path

FOLDERS = ["messages/leat", "runtime/leat", "actors/leat"]
HEAD = re.compile(r"(?:template\s*<.*?>\s*)?(?:enum class|class|struct)\s+(?:LEAT_API\s+)?(\w+)[^;()]*$", re.DOTALL)
CALL = re.compile(r"([~\w]+)\s*\(")
FIELD = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*(?:=.*|\{.*\})?$", re.DOTALL)
NOT_NAMES = {"operator", "requires", "if", "return", "sizeof", "decltype", "noexcept", "static_assert", "swap"}


def statements(text: str) -> list[tuple[list[str], str]]:
    """What is declared at namespace level and in types, each with the heads of the blocks around it."""
    found: list[tuple[list[str], str]] = []
    blocks: list[str] = []
    begin = parentheses = 0
    for at, c in enumerate(text):
        parentheses += (c == "(") - (c == ")")
        if parentheses or c not in "{};":
            continue
        said = text[begin:at].strip()
        if c == "{":
            found.append((list(blocks), said))
            blocks.append(said)
        elif c == "}":
            found.append((list(blocks), said))
            blocks.pop()
        else:
            found.append((list(blocks), said))
        begin = at + 1
    return found


def type_of(block: str) -> str | None:
    head = HEAD.search(re.sub(r"^.*?(public|private):\s*", "", block, flags=re.DOTALL))
    return head.group(1) if head else None


def names_in(text: str) -> set[str]:
    text = re.sub(r"//[^\n]*|^#.*$|\bfriend\b[^;{]*(?=[;{])", "", text, flags=re.MULTILINE)
    found: set[str] = set()
    private: dict[str, bool] = {}
    for blocks, raw in statements(text):
        said, types, spaces = raw, [type_of(x) for x in blocks], [x.startswith("namespace") for x in blocks]
        inside = [x for x, space in zip(types, spaces, strict=True) if not space]
        if None in inside or any(x in ("", "namespace") for x in blocks):
            continue
        owner = ".".join(str(x) for x in inside)
        for access in re.findall(r"\b(public|private):", said):
            private[owner] = access == "private"
        said = re.sub(r"\b(public|private):", "", said).strip()
        if any(private.get(".".join(str(y) for y in inside[: i + 1]), False) for i in range(len(inside))) or not said:
            continue
        said = re.sub(r"^(LEAT_API\s+)?std::function<.*?>(?=\s+\w+\()", "", said, flags=re.DOTALL)  # what a function returns
        if re.match(r"(template\s*<[^>]*>\s*)?using\b", said):
            continue
        prefix = f"{owner}." if owner else ""
        if blocks and "enum class" in blocks[-1]:
            found |= {prefix + x.split("=")[0].strip() for x in said.split(",") if x.strip()}
        elif name := type_of(said):
            found.add(prefix + name)
        elif said.startswith(("namespace", "template class", "typedef")):
            continue
        elif call := CALL.search(re.sub(r"requires\b.*?\)|std::function<[^;]*>(?=\s*\w+\s*(=|$))", "", said, flags=re.DOTALL)):
            found.add(prefix + call.group(1))
        elif field := FIELD.search(said):
            found.add(prefix + field.group(1))
    return {x for x in found if x.rpartition(".")[2] not in NOT_NAMES and "~" not in x and not x.endswith("_")}


def public_names(root: Path) -> set[str]:
    return {x for folder in FOLDERS for file in sorted((root / folder).glob("*.hpp")) for x in names_in(file.read_text())}
