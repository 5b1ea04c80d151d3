"""Trains a tiny language model on two mixed sources of text, tokenized and packed; stopped runs resume exactly.

llm_pretraining.py DIRECTORY [STEPS]: data and checkpoints are in the directory; run it again to continue.
"""

import json
import sys
from pathlib import Path

import leat
import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

directory, steps = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 60
if not (directory / "tokenizer.json").exists():
    web = [f"page {i} says {'yes' if i % 3 else 'no'} to the {'red' if i % 2 else 'blue'} one" for i in range(600)]
    books = [f"chapter {i} tells of a {'king' if i % 5 else 'queen'} and the sea" for i in range(300)]
    for name, texts in (("web", web), ("books", books)):
        (directory / f"{name}.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    made = Tokenizer(models.BPE(unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    training = trainers.BpeTrainer(vocab_size=256, special_tokens=["[UNK]", "[EOS]"], show_progress=False)
    made.train_from_iterator(web + books, training)
    made.save(str(directory / "tokenizer.json"))


def source(name: str, seed: int) -> leat.Pipeline:
    lines = leat.json_lines(str(directory / f"{name}.jsonl"), ranges=4, order="shuffled", seed=seed)
    return lines.filter(leat.bytes_between("text", min=30))


data = (
    leat.mix([source("web", 1), source("books", 2)], weights=[2, 1])  # two documents of the web for one of the books
    .map(leat.tokenize(str(directory / "tokenizer.json"), dtype="i32"))
    .shuffle_buffer(200, seed=3)
    .pack("tokens", 65, split=True, delimiter=1)  # documents one after the other, [EOS] between them
    .batch(8, lanes=4, end="cycle")  # one endless epoch
)


def train_step(weights: np.ndarray, tokens: np.ndarray) -> float:
    """A step of a bigram model by its gradient; tokens [rows, 65]. Returns the loss before it."""
    before, after = tokens[:, :-1].reshape(-1), tokens[:, 1:].reshape(-1)
    chances = np.exp(weights[before]) / np.exp(weights[before]).sum(axis=1, keepdims=True)
    np.add.at(weights, before, -0.1 * (chances - np.eye(256)[after]))
    return float(-np.log(chances[np.arange(len(after)), after]).mean())


weights = np.zeros((256, 256))
loader = leat.Loader(data, steps=steps)
if position := loader.restore(str(directory / "snapshots")):
    weights = np.load(directory / f"weights-{position.global_step - 1}.npy")
for batch in loader:
    loss = train_step(weights, batch["tokens"])
    print(f"step {batch.global_step}: {batch.digest()} loss {loss:.4f}", flush=True)
    if batch.global_step % 10 == 9:
        np.save(directory / f"weights-{batch.global_step}.npy", weights)
        loader.save(str(directory / "snapshots"), batch)
        loader.wait_saved()
