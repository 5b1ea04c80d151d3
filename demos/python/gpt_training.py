"""Trains a small GPT with only torch: JSON lines, mixed, tokenized, packed. A killed run continues with the same losses.

gpt_training.py DIRECTORY [STEPS]: text, tokenizer and checkpoints are in the directory; run it again to continue.
"""

import json
import sys
from pathlib import Path

import leat
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

directory, steps = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 60
if not (directory / "tokenizer.json").exists():
    texts = [f"page {i} says {'yes' if i % 3 else 'no'} to the {'red' if i % 2 else 'blue'} one" for i in range(900)]
    for name, part in (("web", texts[::2]), ("books", texts[1::2])):
        (directory / f"{name}.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in part))
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel()
    made.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=256, show_progress=False))
    made.save(str(directory / "tokenizer.json"))
sources = [leat.json_lines(str(directory / f"{x}.jsonl"), ranges=4, order="shuffled", seed=1) for x in ("web", "books")]
tokens = leat.mix(sources, weights=[0.7, 0.3]).map(leat.tokenize(str(directory / "tokenizer.json")))
data = tokens.shuffle_buffer(200, seed=3).pack("tokens", 64, fit="best", labels=True).batch(8, lanes=4, end="cycle")


class GPT(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places, self.head = torch.nn.Embedding(256, 32), torch.nn.Embedding(64, 32), torch.nn.Linear(32, 256)
        self.block = torch.nn.TransformerEncoderLayer(32, 2, 128, batch_first=True, norm_first=True)  # 2 heads, and dropout

    def forward(self, tokens: torch.Tensor, offset: torch.Tensor, segment: torch.Tensor) -> torch.Tensor:
        seen = (segment[:, :, None] == segment[:, None, :]).tril().repeat_interleave(2, 0)  # the past, within the document
        return self.head(self.block(self.tokens(tokens) + self.places(offset), src_mask=~seen))  # type: ignore[no-any-return]


torch.manual_seed(0)
model, loader = GPT(), leat.Loader(data, steps=steps)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
if (directory / "checkpoint.pt").exists():
    saved = torch.load(directory / "checkpoint.pt")
    loader.restore_parts([saved["data"]])
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    torch.set_rng_state(saved["random"])  # dropout's
for batch in loader:
    inputs = (torch.from_dlpack(batch.dlpack(x)) for x in ("tokens", "offset", "segment"))
    labels = torch.from_dlpack(batch.dlpack("labels"))  # -100 at the end of a document, which the loss ignores
    loss = torch.nn.functional.cross_entropy(model(*inputs).flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    print(f"step {batch.global_step}: {batch.digest()} loss {loss.item():.4f}", flush=True)
    if batch.global_step % 10 == 9:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}
        torch.save({"data": batch.snapshot(), **state}, directory / "checkpoint.new")
        (directory / "checkpoint.new").replace(directory / "checkpoint.pt")  # never half a file
