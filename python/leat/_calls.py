"""Makes wrong calls of the module report what does not fit, and `inspect.signature` read its classes. Imported first."""

import os
from typing import TYPE_CHECKING, Any

from leat import _leat

if TYPE_CHECKING:
    import inspect


def _explain(*call: Any) -> str:
    from leat import _wrong_calls  # which few programs need

    return _wrong_calls.explain(*call)


class _SignatureOfClass:
    """The signature of a class, computed on access."""

    def __get__(self, instance: object, owner: Any) -> "inspect.Signature":
        from leat import _wrong_calls

        return _wrong_calls.signature_of_class(owner)


def _install() -> None:
    """Replaces each function, so that no other module may have imported one before."""
    if "LEAT_STUB" in os.environ:  # a stub has no signatures for wrong calls
        return
    _leat._explain_wrong_calls(_explain)  # type: ignore[attr-defined]
    for x in vars(_leat).values():
        if isinstance(x, type) and hasattr(vars(x).get("__init__"), "__nb_signature__"):
            x.__signature__ = _SignatureOfClass()  # type: ignore[attr-defined]


_install()
