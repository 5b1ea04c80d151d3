"""Makes torchvision usable beside a torch without CUDA.

PyPI has torchvision for CUDA only. Its image library then lacks libc10_cuda.so and
libtorch_cuda.so, of which decoding JPEGs on a CPU needs nothing. Two libraries of these
names that hold the missing symbols, as zeroed data that nobody touches, let it load; the
operators that torchvision expects at its import are declared by hand.
"""

import ctypes
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import torch

STUBS = ("libc10_cuda.so", "libtorch_cuda.so")
OPERATORS = torch.library.Library("torchvision", "FRAGMENT")


def prepare(scratch: Path) -> bool:
    """Call before torchvision is imported. Needs `cc` and `nm`, unless torch has CUDA.

    Returns whether stubs stand in for CUDA.
    """
    if (Path(torch.__file__).parent / "lib" / STUBS[0]).exists():
        return False
    for name in ("nms", "qnms"):
        OPERATORS.define(f"{name}(Tensor boxes, Tensor scores, float limit) -> Tensor")
    for name in STUBS:
        stub = scratch / name
        if not stub.exists():
            build(stub)
        ctypes.CDLL(str(stub), ctypes.RTLD_GLOBAL)
    return True


def build(stub: Path) -> None:
    source = "".join(f"char {name}[64];\n" for name in missing_symbols())
    options = ["-shared", "-fPIC", "-x", "c", f"-Wl,-soname,{stub.name}"]
    subprocess.run(["cc", *options, "-o", stub, "-"], input=source, text=True, check=True)


def missing_symbols() -> list[str]:
    """Names of namespace c10::cuda that torchvision's image library needs."""
    spec = find_spec("torchvision")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("torchvision is not installed")
    library = Path(spec.origin).parent / "image.so"
    command = ["nm", "-D", "--undefined-only", library]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.findall(r"U (\S*4cuda\S*)", listing)
