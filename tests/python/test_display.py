"""How pipelines and batches look in notebooks, and progress on the screen."""

import builtins
import importlib.util
from html.parser import HTMLParser

import leat
import numpy as np
import pytest
from support import digests, due, first


def image(sample: leat.Sample) -> None:
    i = int(sample["value"][0])
    sample["image"] = np.full((3, 4, 6), i / 8, np.float32)
    sample["pixels"] = np.full((4, 6, 3), 10 * i, np.uint8)
    sample["word"] = f"<{i}>"


DATA = leat.count(10).map("image@1", image).batch(5)


class Balanced(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("br", "img", "th"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_plan_as_boxes() -> None:
    inputs = [leat.count(9).shuffle(seed=3), leat.count(9).filter(leat.key_matches("*<&>*"))]
    text = leat.mix(inputs, weights=[1, 2]).batch(4, end="mask")._repr_html_()
    assert Balanced(text).open == []
    assert [text.count(f"<b>{x}</b>") for x in ("count", "shuffle", "filter", "mix", "batch")] == [2, 1, 1, 1, 1]
    assert text.index("<b>shuffle</b>") < text.index("<b>filter</b>") < text.index("<b>mix</b>") < text.index("<b>batch</b>")
    assert "<&>" not in text


def test_a_batch_as_a_table() -> None:
    text = first(DATA)._repr_html_()
    assert Balanced(text).open == []
    assert "<td>image</td><td>f32</td><td>5 &times; 3 &times; 4 &times; 6</td>" in text
    assert "(ragged)" in text
    if importlib.util.find_spec("PIL"):
        assert text.count("<img ") == 10


def test_a_grid_of_images() -> None:
    pytest.importorskip("PIL", reason="needs Pillow")
    batch = first(DATA)
    grid = np.asarray(batch.show("pixels", columns=3))
    assert grid.shape == (8, 18, 3)
    assert [int(grid[4 * (i // 3), 6 * (i % 3), 0]) for i in range(6)] == [0, 10, 20, 30, 40, 0]
    assert np.asarray(batch.show()).shape == (4, 30, 3)
    with pytest.raises(ValueError, match="no images"):
        batch.show("word")


def test_progress_hands_over_every_batch(capsys: pytest.CaptureFixture[str]) -> None:
    assert digests(leat.progress(leat.Loader(DATA, epochs=2))) == due(DATA, 0) + due(DATA, 1)
    if importlib.util.find_spec("tqdm"):
        assert "epoch 1" in capsys.readouterr().err


def test_progress_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert digests(leat.progress(leat.Loader(DATA))) == due(DATA)
    assert builtins.map is not leat.map
    with pytest.raises(ImportError, match="pillow"):
        first(DATA).show()
    assert "<img" not in first(DATA)._repr_html_()
