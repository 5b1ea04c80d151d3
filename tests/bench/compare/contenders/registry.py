"""Who takes part."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Contender:
    key: str
    title: str
    module: str
    variant: str = ""
    packages: tuple[str, ...] = ()
    """Distributions that have to be installed; their versions are reported."""
    differs: str = ""
    """What it does differently from the others."""
    needs_gpu: bool = False
    """Left out where there is no GPU."""


TORCHVISION = ("torch", "torchvision", "simplejpeg")
LEAT_DIFFERS = "its first batch is a whole `leat run --steps 1`, including the end of the process"
DALI_DIFFERS = (
    "shuffles a buffer of 256 images, not the epoch; reads ahead across ends of epochs; "
    "its center crop for evaluation may be off by a pixel"
)
GPU_DIFFERS = "decodes by nvJPEG, whose pixels are others, and leaves its batches on the GPU"

CONTENDERS = (
    Contender("leat", "leat", "leat_command", differs=LEAT_DIFFERS),
    Contender(
        "leat-rows",
        "leat with its row index",
        "leat_command",
        "rows",
        differs=f"{LEAT_DIFFERS}; `leat index` built the row index before",
    ),
    Contender("dali-shards", "DALI (CPU), webdataset reader", "dali_loader", "shards", ("nvidia-dali-cuda120",), DALI_DIFFERS),
    Contender("dali-files", "DALI (CPU), file reader", "dali_loader", "files", ("nvidia-dali-cuda120",), DALI_DIFFERS),
    Contender(
        "dali-mixed-shards",
        "DALI (GPU, mixed), webdataset reader",
        "dali_loader",
        "shards-mixed",
        ("nvidia-dali-cuda120",),
        f"{DALI_DIFFERS}; {GPU_DIFFERS}",
        needs_gpu=True,
    ),
    Contender(
        "dali-mixed-files",
        "DALI (GPU, mixed), file reader",
        "dali_loader",
        "files-mixed",
        ("nvidia-dali-cuda120",),
        f"{DALI_DIFFERS}; {GPU_DIFFERS}",
        needs_gpu=True,
    ),
    Contender(
        "nvjpeg",
        "nvJPEG by torchvision, on the GPU",
        "nvjpeg_loader",
        packages=TORCHVISION,
        differs=f"decodes whole images; workers are threads that read files; {GPU_DIFFERS}",
        needs_gpu=True,
    ),
    Contender("torch-torchvision", "torch DataLoader, torchvision", "torch_loader", "torchvision", TORCHVISION),
    Contender(
        "torch-pillow",
        "torch DataLoader, Pillow",
        "torch_loader",
        "pillow",
        ("torch", "pillow", "numpy"),
        "resizes to 8 bits in two passes, rounding twice; normalizes in numpy",
    ),
    Contender("grain", "Grain, threads, torchvision", "grain_loader", packages=("grain", *TORCHVISION)),
    Contender(
        "webdataset",
        "webdataset, torchvision",
        "webdataset_loader",
        packages=("webdataset", *TORCHVISION),
        differs="shuffles shards and a buffer of 256 images, not the epoch; drops the rest of each worker that fills no batch",
    ),
    Contender(
        "ffcv",
        "FFCV",
        "ffcv_loader",
        packages=("ffcv", "torch", "numpy", "pillow"),
        differs="reads a file of its own, holding the same JPEGs; decodes with the fast, less "
        "exact DCT and resizes by area, not by an antialiased triangle; its images lie in memory "
        "as HWC; starts by compiling; takes no more workers than cores",
    ),
)
