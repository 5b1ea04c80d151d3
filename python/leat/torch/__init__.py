"""leat for torch: a DataLoader whose batches are tensors, and whose state resumes on any number of ranks."""

from leat.torch._batch import Batch, Ragged
from leat.torch._loader import DataLoader, LoaderOptions
from leat.torch._stateful import StatefulDataLoader
from leat.torch._wrap import Wrapped, wrap

__all__ = ["Batch", "DataLoader", "LoaderOptions", "Ragged", "StatefulDataLoader", "Wrapped", "wrap"]
