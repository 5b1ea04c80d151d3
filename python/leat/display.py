"""How pipelines and batches look in notebooks, and progress on the screen."""

import base64
import importlib
import importlib.util
import io
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any, overload

from leat._leat import Batch, Loader, Pipeline, operators_of
from leat.errors import WrongField

if TYPE_CHECKING:
    import numpy

    from leat._epochs import BatchType, Epochs

BOX = "border:1px solid #999;border-radius:4px;padding:2px 8px;margin:2px;display:inline-block;vertical-align:middle"


def _optional(module: str) -> Any:
    """A module that may be installed, or not."""
    return importlib.import_module(module)


def pipeline_html(x: Pipeline) -> str:
    """The plan as nested boxes, from the sources on the left to the batch on the right."""
    return f'<div style="font-family:monospace">{_node_html(operators_of(x))}</div>'


def _node_html(node: dict[str, Any]) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in node["options"].items() if value not in ("", [], None))
    box = (
        f'<span style="{BOX}" title="{escape(options)}"><b>{escape(node["op"])}</b><br><small>{escape(options)}</small></span>'
    )
    inputs = [_node_html(of) for of in node["inputs"]]
    if len(inputs) > 1:
        rows = "".join(f"<div>{of}</div>" for of in inputs)
        return f'<span style="{BOX}">{rows}</span> &rarr; {box}'
    return f"{inputs[0]} &rarr; {box}" if inputs else box


def batch_html(x: Batch) -> str:
    """A table of the fields, with thumbnails of the first images."""
    rows = []
    for name in x.fields():
        facts = x.field(name)
        shape = " &times; ".join(map(str, facts["shape"])) + (" (ragged)" if facts["is_ragged"] else "")
        rows.append(f"<tr><td>{escape(name)}</td><td>{facts['dtype']}</td><td>{shape}</td><td>{_thumbnails(x, name)}</td></tr>")
    head = f"epoch {x.epoch}, step {x.step}, {x.valid_rows} of {x.size} rows valid"
    return f"<table><caption>{head}</caption><tr><th>field<th>type<th>shape<th></tr>{''.join(rows)}</table>"


def _thumbnails(x: Batch, name: str, most: int = 8) -> str:
    images = _images(x, name)
    if images is None or importlib.util.find_spec("PIL") is None:
        return ""
    image_of = _optional("PIL.Image").fromarray
    shown = []
    for pixels in images[:most]:
        image = image_of(pixels)
        image.thumbnail((64, 64))
        file = io.BytesIO()
        image.save(file, "PNG")
        shown.append(f'<img src="data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}">')
    return "".join(shown)


def _images(x: Batch, name: str) -> "numpy.ndarray | None":
    """A field as u8 [N, height, width, 3], copied; None if it holds no images."""
    import numpy

    shape = x.field(name)["shape"]
    if x.field(name)["is_ragged"] or len(shape) != 4 or 3 not in (shape[1], shape[3]) or 0 in shape:
        return None
    try:
        values: Any = x[name]
    except WrongField:  # decoded on a device
        return None
    values = values if shape[3] == 3 else values.transpose(0, 2, 3, 1)
    if values.dtype == numpy.uint8:
        return numpy.ascontiguousarray(values)
    values = values.astype(numpy.float32)
    low, high = values.min(), values.max()
    return numpy.ascontiguousarray((values - low) * (255 / max(high - low, 1e-9))).astype(numpy.uint8)


def show(x: Batch, field: str = "", columns: int = 8) -> Any:
    """A grid of the images of a batch: an image of Pillow, or a figure of matplotlib where Pillow is not installed.

    `field`: the first that holds images, if none is named. Floats are stretched from their least value to their greatest.
    """
    import numpy

    names = [field] if field else x.fields()
    images = next((found for found in (_images(x, name) for name in names) if found is not None), None)
    if images is None:
        raise ValueError(f"no images [N, height, width, 3] or [N, 3, height, width] in {', '.join(names)}")
    columns = min(columns, len(images))
    rows = -(-len(images) // columns)
    count, height, width, _ = images.shape
    cells = numpy.zeros((rows * columns, height, width, 3), numpy.uint8)
    cells[:count] = images
    grid = cells.reshape(rows, columns, height, width, 3).swapaxes(1, 2).reshape(rows * height, columns * width, 3)
    if importlib.util.find_spec("PIL") is not None:
        return _optional("PIL.Image").fromarray(grid)
    if importlib.util.find_spec("matplotlib") is not None:
        made = _optional("matplotlib.figure").Figure()
        axes = made.subplots()
        axes.imshow(grid)
        axes.set_axis_off()
        return made
    raise ImportError("batch.show() takes Pillow or matplotlib: pip install pillow")


@overload
def progress(loader: Loader, **options: Any) -> Iterator[Batch]: ...
@overload
def progress(loader: "Epochs[BatchType]", **options: Any) -> Iterator["BatchType"]: ...
def progress(loader: Any, **options: Any) -> Iterator[Any]:
    """The batches of a loader, with a bar of tqdm for each epoch, where tqdm is installed. `options` go to tqdm.

    A loader of leat.torch or leat.jax gives the batches of one epoch, as its `iter` does.
    """
    if importlib.util.find_spec("tqdm") is None:
        yield from loader
        return
    if not isinstance(loader, Loader):
        yield from _progress_of_epoch(loader, options)
        return
    at = loader.position()
    with _optional("tqdm.auto").tqdm(total=loader.batches_per_epoch(), initial=at.step, unit="batch", **options) as bar:
        bar.set_description(f"epoch {at.epoch}")
        for batch in loader:
            if batch.step == 0 and batch.epoch != at.epoch:
                bar.reset()
                bar.set_description(f"epoch {batch.epoch}")
            yield batch
            bar.update()


def _progress_of_epoch(loader: Any, options: dict[str, Any]) -> Iterator[Any]:
    try:
        total = len(loader)
    except TypeError:  # not known beforehand
        total = None
    with _optional("tqdm.auto").tqdm(total=total, unit="batch", desc=f"epoch {loader.epoch}", **options) as bar:
        for batch in loader:
            yield batch
            bar.update(batch.step + 1 - bar.n)  # the first step is not 0 for the rest of an epoch
