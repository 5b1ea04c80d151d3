"""leat: the same batches, exactly once, in the same order, at decode speed, whatever happens."""

import logging as _logging

from leat import _leat
from leat._leat import *
from leat.errors import BadSample, Error, InputOutput, InvalidArgument, NotFound, WrongField
from leat.functions import filter, map
from leat.position import Position
from leat.ragged_rows import Ragged

automatic = "auto"

__all__ = [name for name in dir(_leat) if not name.startswith("_")]
__all__ += ["BadSample", "Error", "InputOutput", "InvalidArgument", "NotFound", "Position", "Ragged", "WrongField"]
__all__ += ["automatic", "filter", "map"]

_leat.set_notice_handler(_logging.getLogger("leat").warning)
