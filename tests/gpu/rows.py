"""Rows of the results, one JSON object per line on standard output: check, wanted, found and result."""

import json
from typing import Any


def _print(check: str, wanted: str, found: str, result: str, **values: Any) -> None:
    print(json.dumps({"check": check, "wanted": wanted, "found": found, "result": result, **values}), flush=True)


def judged(check: str, wanted: str, found: object, is_good: bool, **values: Any) -> None:
    """What was checked; `values`: numbers for the JSON alone."""
    _print(check, wanted, str(found), "good" if is_good else "BAD", **values)


def measured(check: str, found: object, **values: Any) -> None:
    """What is only measured."""
    _print(check, "", str(found), "measured", **values)


def skipped(check: str, why: object) -> None:
    """What was not done."""
    _print(check, "", str(why), "skipped")
