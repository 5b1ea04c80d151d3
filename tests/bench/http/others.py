#!/usr/bin/env python3
"""Reads what remote.py has put on a server by another client, and prints a JSON object: seconds, bytes, samples, CPU seconds.

others.py records CLIENT ENDPOINT BUCKET KEY BYTES    ranges of BYTES; their numbers come on standard input
others.py samples CLIENT ENDPOINT BUCKET KEY...       all members of tar shards, one after the other
others.py tables  leat ADDRESS                        all rows of a Parquet file, in a windowed order
others.py write   mosaicml FOLDER SHARD...            what it reads
others.py write   tables FILE                         a Parquet file, for tables
others.py check   CLIENT                              ends with 0 if the client is installed

The server looks at no signatures. MosaicML Streaming reads a copy of the samples in its own format.
"""

import concurrent.futures
import importlib
import importlib.util
import io
import json
import os
import resource
import sys
import tarfile
import tempfile
import time

PACKAGES = {"boto3": "boto3", "boto3_16": "boto3", "pyarrow": "pyarrow", "webdataset": "webdataset",
            "s3torchconnector": "s3torchconnector", "mosaicml": "streaming", "leat": "leat"}  # fmt: skip
KEYS = {"aws_access_key_id": "AK", "aws_secret_access_key": "SK", "region_name": "us-east-1"}


def boto3_client(endpoint, connections=16):
    import boto3
    from botocore.config import Config

    config = Config(s3={"addressing_style": "path"}, max_pool_connections=connections)
    return boto3.client("s3", endpoint_url=endpoint, config=config, **KEYS)


def boto3_records(endpoint, bucket, key, size, numbers, in_flight=1):
    client = boto3_client(endpoint)

    def read(i):
        return len(client.get_object(Bucket=bucket, Key=key, Range=f"bytes={i * size}-{(i + 1) * size - 1}")["Body"].read())

    with concurrent.futures.ThreadPoolExecutor(in_flight) as threads:
        yield from map(read, numbers) if in_flight == 1 else threads.map(read, numbers)


def boto3_16_records(*where):
    return boto3_records(*where, in_flight=16)


def pyarrow_records(endpoint, bucket, key, size, numbers):
    from pyarrow.fs import S3FileSystem

    scheme, _, host = endpoint.partition("://")
    files = S3FileSystem(access_key="AK", secret_key="SK", endpoint_override=host, scheme=scheme, region="us-east-1")
    with files.open_input_file(f"{bucket}/{key}") as file:
        for i in numbers:
            yield len(file.read_at(size, i * size))


def members(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as shard:
        for x in shard:
            yield len(shard.extractfile(x).read())


def boto3_samples(endpoint, bucket, keys):
    client = boto3_client(endpoint)
    for key in keys:
        yield from members(client.get_object(Bucket=bucket, Key=key)["Body"].read())


def webdataset_samples(endpoint, bucket, keys):
    import webdataset

    urls = [f"pipe:curl --silent --fail {endpoint}/{bucket}/{key}" for key in keys]
    for sample in webdataset.WebDataset(urls, shardshuffle=False):
        yield sum(len(x) for name, x in sample.items() if not name.startswith("__"))


def s3torchconnector_samples(endpoint, bucket, keys):
    from s3torchconnector import S3ClientConfig, S3IterableDataset

    os.environ |= {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK"}
    objects = S3IterableDataset.from_objects(
        [f"s3://{bucket}/{key}" for key in keys],
        region="us-east-1",
        endpoint=endpoint,
        transform=lambda x: list(members(x.read())),
        s3client_config=S3ClientConfig(force_path_style=True),
    )
    for sizes in objects:
        yield from sizes


def mosaicml_samples(endpoint, bucket, keys):
    import streaming

    os.environ |= {"S3_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK"}
    with tempfile.TemporaryDirectory() as local:
        for sample in streaming.StreamingDataset(remote=f"s3://{bucket}/{keys[0]}", local=local, shuffle=False, batch_size=32):
            yield len(sample["bin"])


def write_mosaicml(folder, shards):
    """The members of these shards in its format, shards as large as theirs."""
    import streaming

    with streaming.MDSWriter(out=folder, columns={"bin": "bytes"}, size_limit=os.path.getsize(shards[0])) as out:
        for path in shards:
            with tarfile.open(path) as shard:
                for x in shard:
                    out.write({"bin": shard.extractfile(x).read()})


def leat_tables(address):
    import leat

    rows = leat.parquet(address).shuffle(seed=3, kind="windowed", window=2)
    for batch in leat.Loader(rows.batch(50, end="mask"), workers=2):
        for i in range(len(batch["n"])):
            yield len(batch["content"][i])


def write_tables(path, groups=200, rows=100, size=10_000):
    import pyarrow
    import pyarrow.parquet

    contents = [os.urandom(size) for _ in range(groups * rows)]
    table = pyarrow.table({"n": list(range(len(contents))), "content": contents})
    pyarrow.parquet.write_table(
        table, path, row_group_size=rows, use_dictionary=False, compression="none", write_statistics=False
    )


def main():
    what, client, *where = sys.argv[1:]
    if what == "check":
        sys.exit(importlib.util.find_spec(PACKAGES[client]) is None)
    if what == "write":
        write_mosaicml(where[0], where[1:]) if client == "mosaicml" else write_tables(*where)
        return
    if what == "records":
        endpoint, bucket, key, size = where
        numbers = [int(x) for x in sys.stdin.read().split()]
        reads = globals()[f"{client}_records"](endpoint, bucket, key, int(size), numbers)
    elif what == "tables":
        reads = leat_tables(*where)
    else:
        endpoint, bucket, *keys = where
        reads = globals()[f"{client}_samples"](endpoint, bucket, keys)
    importlib.import_module(PACKAGES[client])  # which takes some of them seconds, and is no reading
    begin = time.perf_counter()
    sizes = list(reads)
    seconds = time.perf_counter() - begin
    used = [resource.getrusage(x) for x in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(x.ru_utime + x.ru_stime for x in used)
    print(json.dumps({"seconds": seconds, "bytes": sum(sizes), "samples": len(sizes), "cpu_seconds": cpu}))


if __name__ == "__main__":
    main()
