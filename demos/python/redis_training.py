"""Trains on a Redis stream with four processes: these, the feed and the server may be killed, and started again, at any time.

On one machine, in a directory of the job:
redis-server --appendonly yes --appendfsync always &
export WORLD_SIZE=4 LEAT_CLUSTER_ADDRESS=127.0.0.1:4242 LEAT_CLUSTER_STATE=state LEAT_CLUSTER_TOKEN=$(openssl rand -hex 16)
for rank in 0 1 2 3; do RANK=$rank python3 redis_training.py . 1000 & done      # DIRECTORY STEPS
leat feed texts --join 127.0.0.1:4242 --journal journal --queue 'redis://127.0.0.1/texts?field=text' &
redis-cli XADD texts '*' text 'the first one of many'                           # a producer, at any time
"""

import sys
from datetime import timedelta

import leat
import numpy as np


def train_step(counts: np.ndarray, texts: list[bytes]) -> float:
    """Counts which byte follows which; returns the loss. Ranks count in their own rows: the model is the sum of all."""
    loss = 0.0
    for text in texts:
        before, after = np.frombuffer(text[:-1], "u1"), np.frombuffer(text[1:], "u1")
        loss -= np.log((counts[before, after] + 1) / (counts[before].sum(axis=1) + 256)).mean() / len(texts)
        np.add.at(counts, (before, after), 1)
    return loss


def main(directory: str, steps: int) -> None:
    cluster = leat.Cluster.from_env()
    cluster.beat = timedelta(seconds=0.1)  # of a job on one machine; leave it out on a network
    loader = leat.Loader(leat.feed("texts").batch(8), steps=steps, cluster=cluster)  # 8 rows over all ranks
    counts_file = f"{directory}/counts.rank-{cluster.rank}.step-{{}}.npy"

    def load_counts() -> np.ndarray:
        step = loader.position().global_step
        print(f"begins at step {step}", flush=True)
        return np.load(counts_file.format(step)) if step > 0 else np.zeros((256, 256), np.int64)

    loader.restore(f"{directory}/sets")  # waits for all ranks
    counts = load_counts()
    while True:
        try:
            for batch in loader:
                loss = train_step(counts, batch.bytes("text"))
                print(f"step {batch.global_step}: {' '.join(batch.ids())} loss {loss:.6f}", flush=True)
                if batch.global_step % 5 == 4:
                    np.save(counts_file.format(batch.global_step + 1), counts)  # needed for as long as its set is kept
                    loader.save(f"{directory}/sets", batch)
            np.save(counts_file.format("last"), counts)
            loader.finish()  # waits for the others
            return
        except leat.Error as problem:
            if problem.code != "regrouped":
                raise
            counts = load_counts()  # a rank was lost: all are at the newest stored set again


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
