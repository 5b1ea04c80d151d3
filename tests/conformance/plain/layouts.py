"""What a batch's rows hold: docs/operators/batch.md ("layout") and docs/decisions.md ("The layout of a batch")."""

from plain.hashes import hash128, number_bytes, raw_bytes
from plain.samples import BadSample, Ragged, Tensor, field_bytes

TRIES = 256  # number of bad samples after which the search for a good one ends


def kind_of(x):
    """A field's type and shape."""
    if isinstance(x, Ragged):
        return ("ragged", x.type, tuple(x.dims[1:]))
    return (x.type, tuple(x.dims)) if isinstance(x, Tensor) else "bytes"


class Layout:
    """Fields of a batch: those of a good sample, or the named ones among them."""

    def __init__(self, sample, names):
        self.kinds = {name: kind_of(sample.field(name)) for name in names or sample.fields}
        self.names = sorted(self.kinds, key=raw_bytes)

    def row_hash(self, position, sample):
        """The hash of the row that a sample makes. Raises BadSample if it does not fit."""
        content = number_bytes(position)
        for name in self.names:
            x = sample.field(name)
            if kind_of(x) != self.kinds[name]:
                raise BadSample(f"{name} of {sample.id} is {kind_of(x)}, not {self.kinds[name]}")
            content += field_bytes(x)
        return "%032x" % hash128(content)


def first_layout(samples, names):
    """The layout of the first good one. Raises BadSample if there is none."""
    bad = 0
    for sample in samples:
        try:
            if sample.bad:
                raise BadSample(sample.id)
            return Layout(sample, names)
        except BadSample:
            bad += 1
            if bad == TRIES:
                break
    raise BadSample("no good sample to learn the batch's fields of")
