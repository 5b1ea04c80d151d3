"""What trainers look for in a DataLoader: a dataset and a batch sampler that have a size, and are never read."""

import weakref
from collections.abc import Iterator
from typing import Any, Never

import torch.utils.data

from leat.errors import InvalidArgument

_READ = (
    "{} of a leat loader is not to be iterated: something made another DataLoader of it, which would lose or repeat batches. "
    "Iterate the leat loader itself; to go on in the middle of an epoch use its load_state_dict() or restore(), not "
    "skip_first_batches()"
)


class Dataset(torch.utils.data.IterableDataset[Any]):
    """A dataset whose length is the number of samples in an epoch of `loader`, if that is known."""

    def __init__(self, samples: int | None, loader: Any) -> None:
        self._samples = samples
        self._loader = weakref.ref(loader)

    @property
    def loader(self) -> Any:
        """The loader that has this dataset; None if it is gone."""
        return self._loader()

    def __len__(self) -> int:
        if self._samples is None:
            raise TypeError("the number of samples of this pipeline is not known beforehand")
        return self._samples

    def __iter__(self) -> Iterator[Any]:
        raise InvalidArgument(_READ.format("The dataset"))

    def __getitem__(self, _: Any) -> Never:
        raise InvalidArgument(_READ.format("The dataset"))


class BatchSampler(torch.utils.data.Sampler[Any]):
    """A batch sampler that has the number of rows of this rank's batches."""

    def __init__(self, rows: int) -> None:
        self.batch_size = rows
        self.drop_last = False
        self.even_batches = True  # ranks always have the same number of batches
        self.sampler = self
        self.batch_sampler = self

    def __iter__(self) -> Iterator[Any]:
        raise InvalidArgument(_READ.format("The sampler"))

    def set_epoch(self, epoch: int) -> None:
        """Accepted: the loader's position has the epoch."""
