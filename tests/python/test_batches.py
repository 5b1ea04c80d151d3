"""Batches are leases: arrays over their memory, which nobody changes while one of them lives."""

import leat
import numpy as np
import pytest
from support import digests, due, first, refused


def fields_of_all_kinds(sample: leat.Sample) -> None:
    i = int(sample["value"][0])
    sample["flag"] = i % 2 == 0
    sample["number"] = -i
    sample["part"] = i / 8
    sample["word"] = f"wört {i}"
    sample["raw"] = bytes(range(i))
    sample["matrix"] = np.full((2, 3), i, np.float32)
    sample["strided"] = np.arange(6, dtype=np.int16).reshape(2, 3).T
    sample["listed"] = [i, i + 1]
    sample.set_ragged("tokens", np.arange(i, dtype=np.int32))
    sample.set_ragged("boxes", np.full((i, 4), i, np.float64))
    half = sample.make("half", (2,), "bf16")
    half[:] = i
    sample.make("small", [3], np.float16)[:] = i
    sample.make_ragged("codes", i, (2,), "u16")[:] = i
    sample["value"] = sample["value"].copy()


DATA = leat.count(12).map("kinds@1", fields_of_all_kinds).batch(4)


@pytest.fixture
def batch() -> leat.Batch:
    return first(DATA)


def test_fields_have_the_types_and_values_that_were_set(batch: leat.Batch) -> None:
    for name, dtype, values in (
        ("flag", np.uint8, [1, 0, 1, 0]),
        ("number", np.int64, [0, -1, -2, -3]),
        ("part", np.float64, [0, 0.125, 0.25, 0.375]),
        ("listed", np.int64, [[i, i + 1] for i in range(4)]),
        ("small", np.float16, [[i] * 3 for i in range(4)]),
    ):
        assert (batch[name].dtype, batch[name].tolist()) == (dtype, values), name
    assert batch.text("word") == [f"wört {i}" for i in range(4)]
    assert batch.bytes("raw") == [bytes(range(i)) for i in range(4)]
    assert batch["matrix"].shape == (4, 2, 3)
    assert (batch["matrix"][3] == 3).all()
    assert batch["strided"].dtype == np.int16
    assert batch["strided"][0].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert batch["value"][:, 0].tolist() == [0, 1, 2, 3]


def test_ragged_fields(batch: leat.Batch) -> None:
    tokens = batch["tokens"]
    assert isinstance(tokens, leat.Ragged)
    assert len(tokens) == 4
    assert [x.tolist() for x in tokens] == [[*range(i)] for i in range(4)]
    assert tokens.values.dtype == np.int32
    assert tokens.offsets.dtype == np.int64
    assert batch.offsets("tokens").tolist() == [0, 0, 1, 3, 6]
    assert tokens[-1].tolist() == [0, 1, 2]
    with pytest.raises(IndexError):
        tokens[4]
    assert tokens.lengths().tolist() == [0, 1, 2, 3]
    assert tokens.padded(value=-1).tolist() == [[-1] * 3, [0, -1, -1], [0, 1, -1], [0, 1, 2]]
    assert tokens.padded(4).shape == tokens.padded(multiple=2).shape == (4, 4)
    assert tokens.padded(3).dtype == np.int32
    assert batch["boxes"].padded(5).shape == (4, 5, 4)
    assert batch["boxes"].padded(value=0.5)[2].tolist() == [[2.0] * 4] * 2 + [[0.5] * 4]
    for wrong in ({"multiple": 0}, {"value": 0.5}, {"value": 2**31}):
        with pytest.raises(leat.InvalidArgument):
            tokens.padded(**wrong)
    assert batch["boxes"].values.shape == (6, 4)
    assert batch["boxes"][2].tolist() == [[2.0] * 4] * 2
    assert batch["codes"].values.shape == (6, 2)
    assert batch["codes"].values.dtype == np.uint16
    assert bytes(batch["raw"][3]) == b"\0\1\2"
    assert not tokens.values.flags.writeable
    with pytest.raises(leat.WrongField):
        batch.offsets("matrix")


def test_arrays_are_the_memory_of_the_batch(batch: leat.Batch) -> None:
    for name in batch.fields():
        if batch.field(name)["is_ragged"]:
            continue
        one, two = batch[name], batch[name]
        assert one.ctypes.data == two.ctypes.data
        assert one.ctypes.data % 64 == 0
        if name != "half":  # NumPy has no such type
            assert np.from_dlpack(batch.dlpack(name)).ctypes.data == one.ctypes.data
    batch["matrix"][1] = 77
    assert (np.from_dlpack(batch.dlpack("matrix"))[1] == 77).all()


def test_bf16_comes_by_ml_dtypes(batch: leat.Batch) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    half = batch["half"]
    assert half.dtype == ml_dtypes.bfloat16
    assert half.astype(np.float32).tolist() == [[i] * 2 for i in range(4)]
    assert half.ctypes.data == np.asarray(batch["half"]).ctypes.data
    assert batch.field("half") == {"dtype": "bf16", "shape": (4, 2), "is_ragged": False}


def test_a_batch_is_a_mapping_of_fields(batch: leat.Batch) -> None:
    assert list(batch) == batch.fields() == list(batch.keys()) == sorted(batch.fields())
    assert len(batch) == len(batch.fields())
    assert "word" in batch
    assert "nothing" not in batch
    assert set(dict(batch)) == set(batch) == {name for name, _ in batch.items()}
    assert {type(x) for x in batch.values()} == {leat.Ragged, np.ndarray}
    assert dict(batch)["value"].tolist() == batch["value"].tolist() == batch.get("value").tolist()
    assert (batch.get("other"), batch.get("other", 7)) == (None, 7)
    for wrong in (lambda: batch["nothing"], lambda: batch.text("nothing"), lambda: batch.text("matrix")):
        with pytest.raises(leat.WrongField) as raised:
            wrong()
        assert isinstance(raised.value, KeyError)
        assert raised.value.code == "wrong_field"
    assert "matrix f32[4, 2, 3]" in repr(batch)
    assert "tokens i32[6] ragged" in repr(batch)


def test_what_a_batch_says_of_itself() -> None:
    loader = leat.Loader(leat.count(10).shuffle(seed=2).batch(4, end="mask"), workers=1, epochs=2, hash_pixels=True)
    batches = list(loader)
    assert [(x.epoch, x.step, x.global_step, x.end_of_epoch) for x in batches] == [
        (i // 3, i % 3, i, i % 3 == 2) for i in range(6)
    ]
    last = batches[2]
    assert (last.size, last.valid_rows, last.rank, last.world_size) == (4, 2, 0, 1)
    assert last.valid.dtype == bool
    assert last.valid.tolist() == [True, True, False, False]
    assert last.positions() == [8, 9]
    assert last.bad() == []
    assert len(set(last.content_hashes())) == 2
    found = leat.Hash128()
    for position, name in zip(last.positions(), last.ids(), strict=True):
        found = found + leat.row_digest(0, position, name)
    assert found == last.digest() == leat.Hash128(str(found))
    assert hash(found) == hash(last.digest())
    with pytest.raises(leat.InvalidArgument):
        leat.Hash128("xyz")


def test_ranks_share_a_batch_row_by_row() -> None:
    data = leat.count(24).shuffle(seed=2).batch(6)
    ranks = [leat.Loader(data, rank=i, world_size=3, workers=0) for i in range(3)]
    for whole in leat.Loader(data, workers=0):
        parts = [x.next() for x in ranks]
        assert [x.positions() for x in parts] == [whole.positions()[i::3] for i in range(3)]
        assert sum((x.digest() for x in parts), leat.Hash128()) == whole.digest()


def test_an_array_keeps_the_batch_and_a_dropped_one_gives_it_back() -> None:
    loader = leat.Loader(leat.count(100).batch(4), workers=1)
    array = next(loader)["value"][2:]
    assert loader.stats()["slots"]["leased"] == 1
    del array
    assert loader.stats()["slots"]["leased"] == 0


def test_release() -> None:
    loader = leat.Loader(leat.count(100).batch(4), workers=1)
    batch = next(loader)
    batch.release()
    assert loader.stats()["slots"]["leased"] == 0
    assert "released" in repr(batch)
    for use in (lambda: batch["value"], lambda: batch.size, lambda: batch.ids(), lambda: batch.snapshot(), lambda: list(batch)):
        refused("release", use)
    held = next(loader)
    array = held["value"]
    before = array.copy()
    held.release()
    digests(loader)
    assert (array == before).all()
    assert loader.stats()["slots"]["leased"] == 1
    del array
    assert loader.stats()["slots"]["leased"] == 0


def test_too_many_leases_name_the_option_to_raise() -> None:
    loader = leat.Loader(leat.count(400).batch(4), workers=1, leases=3)
    held = [next(loader) for _ in range(3)]
    with pytest.raises(leat.Error, match="leases") as raised:
        next(loader)
    assert raised.value.code == "leases_exhausted"
    assert len(held) == 3


def test_digests_of_python_fields_are_those_of_the_order() -> None:
    assert digests(leat.Loader(DATA, workers=2)) == due(DATA)


def test_what_a_loader_is_and_how_long() -> None:
    data = leat.count(80).batch(4)
    loader = leat.Loader(data, epochs=3, rank=1, world_size=2)
    text = 'count(80, record_bytes=8).batch(4, lanes=0, end="auto", fields=[])'
    assert repr(loader) == f"<leat.Loader, rank 1 of 2: {text}>"
    assert (len(loader), len(list(loader)), len(loader)) == (60, 60, 60)
    assert len(leat.Loader(data, epochs=3, steps=45)) == 45
    assert len(leat.Loader(leat.count(8).batch(4, end="cycle"), steps=5)) == 5
    for unknown in (
        leat.Loader(leat.count(80).sample(0.5).batch(4, end="mask"), workers=0),
        leat.Loader(leat.count(8).batch(4, end="cycle")),
        leat.Loader(data, epochs=2**64 - 1),
    ):
        assert unknown
        with pytest.raises(TypeError, match="number of"):
            len(unknown)
        next(unknown)
