"""Trains a linear classifier with JAX on all devices, and resumes exactly where an earlier run was stopped.

jax_training.py DIRECTORY [EPOCHS]: data and checkpoints are in the directory; run it again to continue.
"""

import pickle
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import leat
import leat.jax
import numpy as np

directory, epochs = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
if not (directory / "images.bin").exists():  # 600 images in 3 classes: the class is the channel that is bright
    random = np.random.default_rng(1)
    pixels = random.integers(0, 100, (600, 3, 8, 8), np.uint8)
    pixels[np.arange(600), np.arange(600) % 3] += 80
    pixels.tofile(directory / "images.bin")
    (np.arange(600) % 3).astype(np.int32).tofile(directory / "labels.bin")

images = leat.raw_records(str(directory / "images.bin"), "u8", [3, 8, 8]).map(leat.rename("value", "image"))
labels = leat.raw_records(str(directory / "labels.bin"), "i32").map(leat.rename("value", "label"))
data = leat.zip([images, labels]).shuffle(seed=7).batch(48, end="mask")


def loss_of(weights: jax.Array, batch: dict[str, jax.Array], valid: jax.Array) -> jax.Array:
    pixels = batch["image"].reshape(len(valid), -1) / 255.0
    losses = -jnp.take_along_axis(jax.nn.log_softmax(pixels @ weights), batch["label"][:, None], axis=1)[:, 0]
    return (losses * valid).sum() / valid.sum()  # rows without a sample do not count


def train_step(weights: jax.Array, batch: dict[str, jax.Array], valid: jax.Array) -> tuple[jax.Array, jax.Array]:
    loss, gradient = jax.value_and_grad(loss_of)(weights, batch, valid)
    return weights - 0.1 * gradient, loss


compiled_step = jax.jit(train_step)
weights = jnp.zeros((3 * 8 * 8, 3))
loader = leat.jax.Loader(data, epochs=epochs)  # rows of every batch are divided among all devices
checkpoint = directory / "checkpoint"
if checkpoint.exists():
    state = pickle.loads(checkpoint.read_bytes())
    weights = jnp.asarray(state["weights"])
    loader.load_state_dict(state["loader"])
for _ in range(loader.epoch, epochs):
    for batch in loader:
        weights, loss = compiled_step(weights, batch, batch.valid)
        print(f"step {batch.global_step}: {batch.digest()} loss {loss:.4f}", flush=True)
        state = {"weights": np.asarray(weights), "loader": loader.state_dict()}  # all processes call state_dict()
        if jax.process_index() == 0:
            checkpoint.with_suffix(".new").write_bytes(pickle.dumps(state))
            checkpoint.with_suffix(".new").rename(checkpoint)
