"""Images without a pipeline."""

from typing import Any, Literal

import leat._leat as _leat


def decode(
    file: bytes,
    *,
    dtype: Any = "u8",
    layout: Literal["nchw", "nhwc"] = "nhwc",
    exact: bool = False,
    max_pixels: int = 1 << 27,
) -> Any:
    """The pixels of a JPEG, PNG or WebP as a NumPy array, [height, width, 3]; with "nchw", [3, height, width].

    u8 as decoded; floats are value / 255. Raises BadSample for what cannot be decoded.
    For many images, or parts of them: ImageDecoder.
    """
    decoder = _leat.ImageDecoder(exact=exact, max_pixels=max_pixels)
    decoder.open(file)
    return decoder.make(dtype=dtype, layout=layout)
