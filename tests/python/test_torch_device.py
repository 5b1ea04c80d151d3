"""Which batches leat copies to a device itself, and what torch, Accelerate and Lightning get where it does and where it cannot.

No GPU is needed: torch takes arrays on the device as copies on the host, in place of torch.from_dlpack.
"""

import logging
from types import SimpleNamespace
from typing import Any

import made_up_driver
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import leat  # noqa: E402
import leat.torch  # noqa: E402
from dlpack import contents  # noqa: E402
from leat.torch import Batch, DataLoader, _device  # noqa: E402

GPU = torch.device("cuda:0")


def kinds(sample: leat.Sample) -> None:
    i = int(sample["value"][0])
    sample["image"] = np.full((2, 3), i, np.float32)
    sample.set_ragged("tokens", np.arange(i % 3, dtype=np.int64))
    sample["word"] = f"word {i}"
    sample.erase("value")


def data() -> leat.Pipeline:
    return leat.count(40).shuffle(seed=3).map("kinds@1", kinds).batch(8)


def due(epochs: int = 1) -> list[str]:
    return [str(x.digest) for epoch in range(epochs) for x in leat.OrderPreview(data(), epoch=epoch)]


@pytest.fixture(autouse=True)
def told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """What is told, from a process on that told nothing so far, with a torch that has CUDA."""
    monkeypatch.setattr(_device, "_has_told", False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    caplog.set_level(logging.WARNING, "leat")
    return caplog


@pytest.fixture
def moves(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where batches are moved by .to(), which then does nothing."""
    found: list[str] = []

    def to(batch: Batch, device: Any, non_blocking: bool = True) -> Batch:
        found.append(f"{device}, {non_blocking}")
        return batch

    monkeypatch.setattr(Batch, "to", to)
    return found


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The shapes that torch imports from the device, in whose place it gets copies on the host."""
    if not made_up_driver.IS_THERE:
        pytest.skip("needs a driver that is made up: LEAT_FAKE_CUDA_DIR, as ctest sets it")
    made_up_driver.load()
    found: list[tuple[str, int]] = []
    from_dlpack = torch.utils.dlpack.from_dlpack

    def read(x: Any) -> Any:
        if not isinstance(x, leat.DeviceArray):
            return from_dlpack(x)
        found.append((x.device, len(x)))
        return torch.from_numpy(contents(x).copy())

    monkeypatch.setattr(torch.utils.dlpack, "from_dlpack", read)
    return found


class NoDriver(leat.Loader):
    """A loader in a process without a driver."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        if options.get("device", "cpu") != "cpu":
            problem = leat.Error("cuda: no driver here")
            problem.code = "device"
            raise problem
        super().__init__(*arguments, **options)


def test_without_a_driver_batches_are_moved_with_one_notice(
    monkeypatch: pytest.MonkeyPatch, told: pytest.LogCaptureFixture, moves: list[str]
) -> None:
    monkeypatch.setattr(leat, "Loader", NoDriver)
    for device in ("cuda", "cuda:1", GPU):
        loader = DataLoader(data(), workers=0, device=device, device_fields=["image"])
        assert [str(x.digest()) for x in loader] == due()
    assert len(moves) == 3 * len(due())
    assert sorted(set(moves)) == ["cuda, True", "cuda:0, True", "cuda:1, True"]
    (notice,) = told.messages
    assert "moved to cuda by .to()" in notice
    assert "no driver here" in notice


@pytest.mark.parametrize(("device", "why"), [("mps", "CUDA alone"), ("xpu", "CUDA alone"), ("cuda", "built without CUDA")])
def test_devices_that_leat_does_not_know_are_moved_to_with_one_notice(
    device: str, why: str, monkeypatch: pytest.MonkeyPatch, told: pytest.LogCaptureFixture, moves: list[str]
) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    for _ in range(2):
        assert [str(x.digest()) for x in DataLoader(data(), workers=0, device=device)] == due()
    assert moves == [f"{device}, {device == 'cuda'}"] * 2 * len(due())
    assert len(told.messages) == 1
    assert why in told.messages[0]


def test_on_the_host_nothing_is_told(told: pytest.LogCaptureFixture) -> None:
    for device in (None, "cpu"):
        batch = next(iter(DataLoader(data(), workers=0, device=device, device_fields=["image"])))
        batch.used_on(torch.Stream(device="cpu") if device else 7)
        assert batch.valid.device.type == "cpu"
    assert told.messages == []


def test_other_errors_are_not_taken_for_a_missing_device() -> None:
    with pytest.raises(leat.InvalidArgument, match="rank"):
        DataLoader(data(), rank=3, world_size=2, device="cuda")


def test_tensors_lie_where_leat_has_copied_them(imports: list[Any], moves: list[str], told: pytest.LogCaptureFixture) -> None:
    found = []
    for batch in (loader := DataLoader(data(), workers=2, device="cuda")):
        found.append(str(batch.digest()))
        assert (batch["image"].numpy() == batch.lease["image"]).all()
        assert batch["tokens"].values.tolist() == batch.lease["tokens"].values.tolist()
        assert batch["tokens"].offsets.tolist() == batch.lease.offsets("tokens").tolist()
        assert bytes(batch["word"].values.numpy()).decode() == "".join(batch.text("word"))
        batch.used_on(0)
    assert found == due()
    assert {x for x, _ in imports} == {"cuda:0"}
    assert len(imports) == 3 * len(due())  # the image, values and offsets of tokens; words stay
    assert (moves, told.messages) == ([], [])
    assert loader.stats()["device"]["batches"] >= len(due())


def test_batches_of_bytes_alone_stay_on_the_host(imports: list[Any], moves: list[str], told: pytest.LogCaptureFixture) -> None:
    def words(sample: leat.Sample) -> None:
        sample["word"] = f"word {int(sample['value'][0])}"
        sample.erase("value")

    texts = leat.count(40).map("words@1", words).batch(8)
    found = []
    for batch in DataLoader(texts, workers=1, device="cuda"):
        found += batch.text("word")
        assert batch["word"].offsets.tolist() == batch.lease.offsets("word").tolist()
    assert found == [f"word {i}" for i in range(40)]
    assert (imports, moves, told.messages) == ([], [], [])


def test_the_state_is_the_same_with_a_device(imports: list[Any], moves: list[str]) -> None:
    for first, second in (("cuda", None), (None, "cuda:1")):
        loader = DataLoader(data(), workers=1, device=first)
        seen = []
        for batch in loader:
            seen.append(str(batch.digest()))
            if batch.step == 2:
                break
        state = loader.state_dict()
        again = DataLoader(data(), workers=0, device=second)
        for _ in range(2):  # the second load makes a new loader
            again.load_state_dict(state)
            rest = [str(x.digest()) for x in again]
            assert seen + rest == due()
            assert (again.stats()["device"] is not None) == (second is not None)


def test_the_device_of_torch_at_the_first_batch_counts(
    imports: list[Any], moves: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at = 0
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: at)
    loader, loaded = (DataLoader(data(), workers=0, device="cuda", device_fields=["image"]) for _ in range(2))
    loaded.skip_first_batches(1)
    at = 1  # as by torch.cuda.set_device()
    assert [str(x.digest()) for x in loader] == due()
    assert imports == [("cuda:1", 8)] * 5
    assert moves == []
    assert [str(x.digest()) for x in loaded] == due()[1:]
    assert moves == ["cuda, True"] * 4  # from the other device


def test_a_trainer_that_knows_the_device_later(imports: list[Any], moves: list[str], told: pytest.LogCaptureFixture) -> None:
    loader = DataLoader(data(), workers=1, device_fields=["image"])
    assert loader.copy_to(GPU)
    assert loader.device == GPU
    assert [str(x.digest()) for x in loader] == due()
    assert imports == [("cuda:0", 8)] * len(due())

    for change in (
        lambda x: x.skip_first_batches(1),
        lambda x: (x.skip_first_batches(1), iter(x), iter(x)),
        lambda x: x.leave_out_steps(2, 2),
        lambda x: x.load_state_dict(loader.state_dict()),
        lambda x: next(iter(x)),
    ):
        other = DataLoader(data(), workers=0)
        change(other)
        at = other.position()
        assert not other.copy_to(GPU)
        assert other.device is None
        assert other.position() == at
    assert len(told.messages) == 1
    assert "before its device was known" in told.messages[0]
    assert not DataLoader(data(), workers=0).copy_to(torch.device("mps"))
    assert moves == []


def test_accelerate_prepares_a_loader_for_its_device(
    imports: list[Any], moves: list[str], told: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("accelerate")
    import leat.accelerate

    state = SimpleNamespace(process_index=0, num_processes=1, device=GPU)
    monkeypatch.setattr(leat.accelerate, "PartialState", lambda: state)
    loader = DataLoader(data(), workers=1)
    leat.accelerate.prepare(loader)
    assert [str(x.digest()) for x in loader] == due()
    assert len(imports) == 3 * len(due())
    loaded = DataLoader(data(), workers=1)
    loaded.skip_first_batches(2)
    leat.accelerate.prepare(loaded)
    assert [str(x.digest()) for x in loaded] == due()[2:]
    assert moves == ["cuda:0, True"] * 3
    own = DataLoader(data(), workers=1, device="cpu")
    leat.accelerate.prepare(own)
    assert own.device == torch.device("cpu")


@pytest.mark.parametrize("hook", ["", "on_before_batch_transfer", "transfer_batch_to_device", "on_after_batch_transfer"])
def test_lightning_finds_batches_on_its_device_unless_a_hook_takes_them_before(
    hook: str, imports: list[Any], moves: list[str]
) -> None:
    pytest.importorskip("lightning")
    import leat.lightning
    import lightning

    def trainer(module: Any, datamodule: Any, device: str) -> Any:
        strategy = SimpleNamespace(root_device=torch.device(device))
        return SimpleNamespace(strategy=strategy, lightning_module=module, datamodule=datamodule)

    takes = {hook: lambda self, batch, *_: batch} if hook else {}
    module = type("Module", (lightning.LightningModule,), takes)
    datamodule = type("Data", (lightning.LightningDataModule,), takes)
    plain = lightning.LightningModule()
    for given in ((module(), None), (plain, datamodule()), (module(), datamodule())):
        loader = DataLoader(data(), workers=0)
        leat.lightning._copy_to_device(loader, trainer(*given, "cuda:0"))
        is_copied = hook in ("", "on_after_batch_transfer")
        assert loader.device == (GPU if is_copied else None)
        imports.clear()
        next(iter(loader))
        assert bool(imports) is is_copied
    for device in ("cpu", "mps"):
        loader = DataLoader(data(), workers=0)
        leat.lightning._copy_to_device(loader, trainer(plain, None, device))
        assert loader.device is None
    assert moves == []
