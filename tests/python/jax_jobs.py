"""A job of JAX that test_jax.py starts in processes of its own, kills and resumes.

jax_jobs.py DIRECTORY PIPELINE EPOCHS LAST [COORDINATOR PROCESS PROCESSES]: one line for each batch goes to PROCESS.log;
behind the batch LAST of the job it kills itself with SIGKILL. It resumes from the directory, if there is a state.
"""

import os
import pickle
import signal
import sys
from pathlib import Path

directory, text, epochs, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
coordinator, process, processes = (sys.argv[5], int(sys.argv[6]), int(sys.argv[7])) if len(sys.argv) > 5 else ("", 0, 1)

import jax  # noqa: E402

if coordinator:
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(coordinator, num_processes=processes, process_id=process)

import leat  # noqa: E402
import leat.jax  # noqa: E402
from jax.experimental import multihost_utils  # noqa: E402

loader = leat.jax.Loader(leat.parse_pipeline(text), workers=1 + processes, epochs=epochs)
assert (loader.rank, loader.world_size) == (process, processes)
total = jax.jit(lambda values, valid: (values[:, 0] * valid).sum())
if (directory / "state").exists():
    loader.load_state_dict(pickle.loads((directory / "state").read_bytes()))

log = (directory / f"{process}.log").open("a")
for epoch in range(loader.epoch, epochs):
    for batch in loader:
        assert batch.epoch == epoch
        number = batch["value"]
        assert number.shape == (batch.lease.size * processes, 8)
        seen = int(total(number.astype("int32"), batch.valid))
        state = loader.state_dict()
        if process == 0:
            (directory / "new").write_bytes(pickle.dumps(state))
            (directory / "new").rename(directory / "state")
        print(batch.global_step, batch.digest(), seen, len(jax.devices()), file=log, flush=True)
        if batch.global_step == last:
            if coordinator:  # the first process that dies may take the others with it
                multihost_utils.sync_global_devices("all have written")
            os.kill(os.getpid(), signal.SIGKILL)
