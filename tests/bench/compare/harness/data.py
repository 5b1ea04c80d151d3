"""The images: tar shards, and the same files extracted."""

import dataclasses
import glob
import hashlib
import sys
import tarfile
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Data:
    shards: list[str]
    folder: Path
    """Also for files that contenders make from the data."""
    listing: Path
    records: int
    image_bytes: int


def find(patterns: list[str]) -> list[str]:
    shards = [str(Path(x).resolve()) for pattern in patterns for x in sorted(glob.glob(pattern))]
    if not shards:
        sys.exit(f"compare: no shard matches {' '.join(patterns)}")
    return shards


def unpack(shards: list[str], scratch: Path) -> Data:
    """Into a folder of its own for exactly these shards, unless it exists."""
    folder = scratch / f"data-{fingerprint(shards)}"
    listing = folder / "files.txt"
    if not listing.exists():
        parts = [unpack_shard(x, folder / f"{i:06}") for i, x in enumerate(shards)]
        listing.write_text("".join(line for lines in parts for line in lines), encoding="utf-8")
    paths = [line.split("\t")[0] for line in listing.read_text(encoding="utf-8").splitlines()]
    return Data(shards, folder, listing, len(paths), sum(Path(x).stat().st_size for x in paths))


def fingerprint(shards: list[str]) -> str:
    stats = [(x, Path(x).stat().st_size, Path(x).stat().st_mtime_ns) for x in shards]
    return hashlib.sha256(repr(stats).encode()).hexdigest()[:12]


def unpack_shard(shard: str, folder: Path) -> list[str]:
    """Lines of the listing."""
    folder.mkdir(parents=True, exist_ok=True)
    images: dict[str, Path] = {}
    labels: dict[str, int] = {}
    with tarfile.open(shard) as tar:
        for member in tar:
            content = tar.extractfile(member)
            key, _, kind = Path(member.name).name.partition(".")
            if content is None:
                continue
            if kind == "cls":
                labels[key] = int(content.read())
            elif kind == "jpg":
                images[key] = folder / f"{key}.jpg"
                images[key].write_bytes(content.read())
    return [f"{path}\t{labels[key]}\n" for key, path in images.items()]
