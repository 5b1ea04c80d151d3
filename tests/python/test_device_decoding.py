"""JPEGs that are decoded on a device, from Python and the command: the pixels of the processors, and where they were made."""

import gc
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import leat
import made_up_driver
import numpy as np
import pytest
from dlpack import contents
from support import digests

COMMAND = os.environ["LEAT_COMMAND"]

pytestmark = made_up_driver.needed


@pytest.fixture
def driver() -> Iterator[made_up_driver.Driver]:
    yield made_up_driver.Driver()
    gc.collect()


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("photographs")
    subprocess.run([COMMAND, "make-data", folder, "--samples", "40", "--shards", "2"], check=True, capture_output=True)
    subprocess.run([COMMAND, "index", *sorted(folder.glob("*.tar"))], check=True, capture_output=True)
    return str(folder / "*.tar")


def images(shards: str) -> leat.Pipeline:
    return leat.tar_shards(shards).shuffle(seed=4).map(leat.train_image("jpg", size=48)).map(leat.int_label("cls")).batch(8)


@pytest.mark.parametrize("workers", [0, 2])
def test_pixels_are_those_of_the_processors(driver: made_up_driver.Driver, shards: str, workers: int) -> None:
    here = leat.Loader(images(shards), workers=workers)
    there = leat.Loader(images(shards), workers=workers, device="cuda", decoder="device")
    number = 0
    for expected, found in zip(here, there, strict=True):
        assert str(found.digest()) == str(expected.digest())
        assert (contents(found.on_device("image")) == expected["image"]).all()
        assert (found["label"] == expected["label"]).all()
        number += 1
    assert number == 5
    decoder = there.stats()["device"]["decoder"]
    assert decoder["by"] == "device"
    assert decoder["images"] == 40
    assert decoder["on_cpu"] == {}
    assert decoder["prepared"] > 0


def test_pixels_by_nvjpeg_that_is_made_up_are_its_own(driver: made_up_driver.Driver, tmp_path: Path) -> None:
    subprocess.run([COMMAND, "make-data", tmp_path, "--samples", "40", "--shards", "2"], check=True, capture_output=True)
    shards = str(tmp_path / "*.tar")  # without an index
    here = leat.Loader(images(shards))
    there = leat.Loader(images(shards), workers=2, device="cuda", decoder="nvjpeg")
    for expected, found in zip(here, there, strict=True):
        assert str(found.digest()) == str(expected.digest())
        assert (contents(found.on_device("image")) == expected["image"]).all()
    decoder = there.stats()["device"]["decoder"]
    assert (decoder["by"], decoder["images"], decoder["on_cpu"]) == ("nvjpeg", 40, {})


def test_what_is_decoded_there_is_not_on_the_host(driver: made_up_driver.Driver, shards: str) -> None:
    batch = next(leat.Loader(images(shards), device="cuda"))
    assert batch.is_on_device("image")
    with pytest.raises(leat.WrongField, match="decoder"):
        batch["image"]
    assert batch.field("image") == {"dtype": "f32", "shape": (8, 3, 48, 48), "is_ragged": False}
    assert "image f32[8, 3, 48, 48]" in repr(batch)
    assert "8 &times; 3 &times; 48" in batch._repr_html_()
    assert batch["label"].shape == (8,)
    batch = next(leat.Loader(images(shards), device="cuda", decoder="cpu"))
    assert (contents(batch.on_device("image")) == batch["image"]).all()


def test_maps_of_python_that_read_pixels_have_them(driver: made_up_driver.Driver, shards: str) -> None:
    def mean(sample: leat.Sample) -> None:
        sample["mean"] = float(np.asarray(sample["image"]).mean())

    names = ["image", "mean"]

    def read(decoder: dict[str, Any]) -> list[Any]:
        loader = leat.Loader(
            leat.tar_shards(shards).map(leat.train_image("jpg", size=48)).map("mean@1", mean).batch(8, fields=names),
            workers=1,
            **decoder,
        )
        found = []
        for batch in loader:
            image = contents(batch.on_device("image")) if batch.is_on_device("image") else batch["image"]
            found.append((np.array(batch["mean"]), np.array(image)))
        return found

    for (mean_here, image_here), (mean_there, image_there) in zip(
        read({}), read({"device": "cuda", "decoder": "device"}), strict=True
    ):
        assert (mean_here == mean_there).all()
        assert (image_here == image_there).all()


def test_a_wrong_decoder_is_named(shards: str) -> None:
    for options in ({"decoder": "gpu"}, {"decoder": "device"}, {"decoder": "nvjpeg"}, {"decoder": "device", "device": "cpu"}):
        with pytest.raises(leat.InvalidArgument, match="decoder"):
            leat.Loader(images(shards), **options)


def run(*arguments: str, kernels: str | None = None) -> subprocess.CompletedProcess[str]:
    folder = made_up_driver.DIRECTORY
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": folder,
        "LEAT_CUDA_MODULE": kernels or str(Path(folder) / "libleat_cuda.so"),
    }
    return subprocess.run([COMMAND, *arguments], env=environment, capture_output=True, text=True, timeout=100, check=False)


def test_the_command_says_where_images_were_decoded(shards: str, tmp_path: Path) -> None:
    logs = []
    for device in ([], ["--device", "cuda", "--decoder", "device"]):
        log = tmp_path / f"{len(device)}.jsonl"
        ran = run("run", shards, "--global-batch", "8", "--workers", "2", "--log", str(log), "--json", *device)
        assert ran.returncode == 0, ran.stderr
        logs.append([json.loads(x) for x in log.read_text().splitlines()])
    assert logs[0] == logs[1]  # hashes of pixels among them
    summary = json.loads(ran.stdout.splitlines()[-1])
    assert summary["device"]["decoder"]["images"] == 40
    ran = run("run", shards, "--global-batch", "8", "--device", "cuda")
    assert "40 images on the device" in ran.stdout
    ran = run("run", shards, "--global-batch", "8", "--device", "cuda", kernels="/nowhere/libleat_cuda.so")
    assert ran.returncode == 0
    assert "JPEGs are decoded on the processors" in ran.stderr
    ran = run("run", shards, "--global-batch", "8", *device, kernels="/nowhere/libleat_cuda.so")
    assert ran.returncode == 1
    assert "libleat_cuda" in ran.stderr


def test_the_command_decodes_by_nvjpeg(shards: str, monkeypatch: pytest.MonkeyPatch) -> None:
    device = ["--device", "cuda", "--decoder", "nvjpeg"]
    ran = run("run", shards, "--global-batch", "8", *device)
    assert "40 images on the device by nvJPEG" in ran.stdout
    ran = run("run", shards, "--global-batch", "8", "--json", *device)
    assert json.loads(ran.stdout.splitlines()[-1])["device"]["decoder"]["by"] == "nvjpeg"
    assert "of JPEGs by nvJPEG on cuda:0" in run("graph", shards, *device).stdout
    monkeypatch.setenv("LEAT_NVJPEG", "/nowhere/libnvjpeg.so.13")
    for command in (["run", shards, "--global-batch", "8"], ["graph", shards]):
        ran = run(*command, *device)
        assert ran.returncode == 1
        assert "pip install nvidia-nvjpeg" in ran.stderr


@pytest.mark.parametrize("lost", [1, 2, 3, 5])
def test_a_device_that_is_lost_ends_the_job(shards: str, monkeypatch: pytest.MonkeyPatch, lost: int) -> None:
    for workers in ("0", "2"):
        monkeypatch.setenv("LEAT_FAKE_CUDA", f"lost={lost}")
        ran = run("run", shards, "--global-batch", "8", "--workers", workers, "--device", "cuda", "--decoder", "device")
        assert (ran.returncode, "device" in ran.stderr) == (1, True), ran.stderr


def test_without_memory_for_it_processors_decode(shards: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAT_FAKE_CUDA", f"memory={64 << 20}")  # for batches alone
    ran = run("run", shards, "--global-batch", "8", "--device", "cuda")
    assert ran.returncode == 0, ran.stderr
    assert "40 on the processors: no memory on the device" in ran.stdout
    assert "JPEGs are decoded on the processors" in ran.stderr
    ran = run("run", shards, "--global-batch", "8", "--device", "cuda", "--decoder", "device")
    assert ran.returncode == 1
    assert "no resources" in ran.stderr


def test_the_bench_measures_a_loader_to_a_device(shards: str) -> None:
    job = ["bench", shards, "--global-batch", "8", "--samples", "40", "--rounds", "1", "--no-decode", "--device", "cuda"]
    ran = run(*job, "--json")
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["device"] > 0
    assert found["device_ratio"] > 0
    assert found["on_device"]["decoder"]["images"] == 40
    assert "decoded there    40 images" in run(*job).stdout


def test_the_graph_says_where_images_are_decoded(shards: str) -> None:
    drawn = run("graph", shards, "--device", "cuda").stdout
    assert "of JPEGs with a row index on cuda:0" in drawn
    drawn = run("graph", shards, "--device", "cuda", kernels="/nowhere/libleat_cuda.so").stdout
    assert "on the processors: device: " in drawn
    assert "on the processors" in run("graph", shards, "--device", "cuda", "--decoder", "cpu").stdout
    assert "processors" not in run("graph", shards).stdout


def test_a_resume_goes_on_elsewhere(driver: made_up_driver.Driver, shards: str) -> None:
    ways: list[dict[str, Any]] = [{"device": "cuda", "decoder": "device"}, {}]
    due = digests(leat.Loader(images(shards)))
    for first, second in (ways, ways[::-1]):
        job = leat.Loader(images(shards), workers=2, **first)
        seen = digests(next(job) for _ in range(2))
        again = leat.Loader(images(shards), workers=0, **second)
        again.restore_parts([job.snapshot()])
        assert seen + digests(again) == due
