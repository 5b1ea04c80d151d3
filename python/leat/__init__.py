"""leat: the same batches, exactly once, in the same order, at decode speed, whatever happens."""

import logging as _logging
import sys as _sys

from leat import _calls as _calls  # before anything keeps a function of the module
from leat import _leat
from leat import tables as _tables
from leat._leat import *
from leat._leat import __version__ as __version__
from leat.display import progress
from leat.errors import BadSample, Error, InputOutput, InvalidArgument, NotFound, WrongField
from leat.feeding import Feed
from leat.functions import filter, map
from leat.images import decode
from leat.position import OwnBatch, Position
from leat.ragged_rows import Ragged
from leat.tokenizing import register_tokenizer, tokenize
from leat.tokenizing import tokenize_of_text as _tokenize_of_text

# A free-threaded Python enables its GIL for the module, unless it was configured not to.
if not getattr(_sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(
        "leat was imported while PYTHON_GIL=0 or -X gil=0 keeps the GIL switched off; needed: Python without either"
    )

automatic = "auto"

__all__ = [name for name in dir(_leat) if not name.startswith("_")]
__all__ += ["BadSample", "Error", "Feed", "InputOutput", "InvalidArgument", "NotFound", "OwnBatch", "Position", "Ragged"]
__all__ += ["WrongField", "automatic", "decode", "filter", "map", "progress", "register_tokenizer", "tokenize"]

_leat.set_notice_handler(_logging.getLogger("leat").warning)
_leat.register_map("tokenize@1", _tokenize_of_text)
_leat.register_table_reader("parquet", _tables.open_parquet, _tables.read_parquet, far=True)
_leat.register_table_reader("arrow", _tables.open_arrow, _tables.read_arrow)
