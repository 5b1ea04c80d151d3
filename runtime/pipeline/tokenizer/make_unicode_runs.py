#!/usr/bin/env python3
"""Writes unicode_runs.cpp: the general category of every code point, by the package unicodedata2==16.0.0 of PyPI.

pip install unicodedata2==16.0.0 && python make_unicode_runs.py > unicode_runs.cpp
"""

import unicodedata2

VERSION = "16.0.0"
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
CATEGORY_BITS = 5
WIDTH = 140


def main() -> None:
    if unicodedata2.unidata_version != VERSION:
        raise SystemExit(f"unicodedata2 has Unicode {unicodedata2.unidata_version}, not {VERSION}")
    runs, last = [], None
    for code_point in range(0x110000):
        category = CATEGORIES.index(unicodedata2.category(chr(code_point)))
        if category != last:
            runs.append(f"{code_point << CATEGORY_BITS | category:#x},")
            last = category
    lines, line = [], ""
    for run in runs:
        if len(line) + len(run) > WIDTH:
            lines.append(line)
            line = ""
        line += run
    lines.append(line)
    print('#include "runtime/pipeline/tokenizer/unicode_runs.hpp"\n')
    print(f"// Made by make_unicode_runs.py from Unicode {VERSION}.\n")
    print("namespace leat {\n\nnamespace {\n\n// clang-format off")
    print("constexpr std::uint32_t runs[] = {")
    print("\n".join(lines))
    print("};\n// clang-format on\n\n} // namespace\n")
    print("std::span<const std::uint32_t> unicode_runs() {\n  return runs;\n}\n\n} // namespace leat")


main()
