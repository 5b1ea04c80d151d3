"""Trains a tiny GPT-2 with the Trainer of Transformers; a killed run continues with the same batches.

transformers_training.py DIRECTORY [STEPS]: text and checkpoints are in the directory; run it again to continue. With
torchrun --nproc-per-node N it trains on N processes, also after a run on another number of them.
"""

import json
import sys
from pathlib import Path
from typing import Any

import leat
import leat.transformers
import numpy as np
import transformers

directory, steps = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 60
text = directory / "text.jsonl"
if not text.exists():
    lines = [json.dumps({"text": f"chapter {i} tells of a {'king' if i % 5 else 'queen'} and the sea"}) for i in range(900)]
    text.write_text("\n".join(lines))


@leat.map("bytes@1")
def tokens(sample: leat.Sample) -> None:
    sample["input_ids"] = np.frombuffer(sample.bytes("text"), np.uint8).astype(np.int32)


@leat.map("labels@1")
def labels(sample: leat.Sample) -> None:
    sample["labels"] = np.where(sample["segment"] > 0, sample["input_ids"], -100)  # padding is not learned


data = (
    leat.json_lines(str(text), ranges=4, order="shuffled", seed=1)
    .map(tokens)
    .shuffle_buffer(200, seed=3)
    .pack("input_ids", 64, split=True, delimiter=10)  # documents one after the other
    .map(labels)
    .batch(8, lanes=4, end="drop", fields=["input_ids", "labels"])  # the model's parameters
)


class Told(transformers.TrainerCallback):  # type: ignore[misc]
    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any], **_: Any) -> None:
        if state.is_world_process_zero and "loss" in logs:
            print(f"step {state.global_step - 1}: epoch {state.epoch:.4f} loss {float(logs['loss']):.4f}", flush=True)


transformers.set_seed(0)
sizes = {"n_layer": 1, "n_head": 2, "n_embd": 32, "n_positions": 64, "vocab_size": 128, "bos_token_id": 10, "eos_token_id": 10}
model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes))
options: dict[str, Any] = {"learning_rate": 0.01, "save_steps": 10, "logging_steps": 1, "report_to": [], "disable_tqdm": True}
args = transformers.TrainingArguments(str(directory / "out"), max_steps=steps, use_cpu=True, **options)
trainer = leat.transformers.Trainer(model=model, args=args, train_pipeline=data, callbacks=[Told()])
trainer.remove_callback(transformers.PrinterCallback)
trainer.train(resume_from_checkpoint=any(directory.glob("out/checkpoint-*")))
