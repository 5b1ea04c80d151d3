#!/usr/bin/env python3
"""Writes form_runs.cpp: which code points Unicode 9.0.0 has, by Perl's tables, and the small letters of the package tokenizers==0.23.3.

pip install tokenizers==0.23.3 && python make_form_runs.py > form_runs.cpp
"""

import subprocess

import tokenizers

LETTERS = "0.23.3"  # with those of Unicode 17.0.0
AGE = "9.0"
WIDTH = 130
PERL = rf'for my $c (0..0x10ffff) {{ print chr($c) =~ /\p{{Present_In={AGE}}}/ ? 1 : 0 }}'


def ranges_of(known: str) -> list[tuple[int, int]]:
    ranges, at = [], known.find("1")
    while at >= 0:
        end = known.find("0", at)
        end = len(known) if end < 0 else end
        ranges.append((at, end - 1))
        at = known.find("1", end)
    return ranges


def letter_runs() -> list[tuple[int, int, int, int]]:
    """First and last letter, their distance from one to the next, and what is added."""
    lower = tokenizers.normalizers.Lowercase().normalize_str
    runs: list[tuple[int, int, int, int]] = []
    for code_point in range(0x110000):
        if 0xD800 <= code_point < 0xE000:
            continue
        small = lower(chr(code_point))
        if small == chr(code_point):
            continue
        if len(small) != 1:
            if (code_point, small) != (0x130, "i\u0307"):
                raise SystemExit(f"{code_point:#x} has several small letters, which code has to know")
            continue
        change = ord(small) - code_point
        if runs:
            first, last, step, by = runs[-1]
            distance = code_point - last
            if by == change and distance <= 2 and (first == last or step == distance):
                runs[-1] = (first, code_point, distance, by)
                continue
        runs.append((code_point, code_point, 1, change))
    return runs


def printed(name: str, kind: str, items: list[str]) -> None:
    print(f"constexpr {kind} {name}[] = {{")
    line = ""
    for item in items:
        if len(line) + len(item) > WIDTH:
            print(line)
            line = ""
        line += item
    print(f"{line}\n}};")


def main() -> None:
    if tokenizers.__version__ != LETTERS:
        raise SystemExit(f"tokenizers is {tokenizers.__version__}, not {LETTERS}")
    known = subprocess.run(["perl", "-e", PERL], capture_output=True, text=True, check=True).stdout
    print('#include "runtime/pipeline/tokenizer/form_runs.hpp"\n')
    print(f"// Made by make_form_runs.py: Unicode {AGE} by Perl, letters by tokenizers {LETTERS}.\n")
    print("namespace leat {\n\nnamespace {\n\n// clang-format off")
    printed("known_ranges", "code_range", [f"{{{a:#x},{b:#x}}}," for a, b in ranges_of(known)])
    printed("lower_runs", "letter_run", [f"{{{a:#x},{b:#x},{step},{by}}}," for a, b, step, by in letter_runs()])
    print("// clang-format on\n\n} // namespace\n")
    print("std::span<const code_range> ranges_of_unicode_9() {\n  return known_ranges;\n}\n")
    print("std::span<const letter_run> runs_of_letters() {\n  return lower_runs;\n}\n\n} // namespace leat")


main()
