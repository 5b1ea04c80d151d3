"""Jobs of several processes under torchrun, which starts all of them again when one has died."""

import json
import sys
from pathlib import Path

import pytest
from child_process import ChildProcess
from cluster_bench import HERE, check_sums
from cluster_jobs import WAITS_AT

pytest.importorskip("torch.distributed.run")

PROGRAM = f"""
import json, os, sys
from dataclasses import asdict
from pathlib import Path
sys.path.append({str(HERE)!r})
import leat
from cluster_jobs import Options, Rank

class UnderTorchrun(Options):
    def cluster(self):
        cluster = leat.Cluster.from_env()
        cluster.beat = 0.1
        return cluster

place, pipeline, deaths = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
rank, life = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
kill_after = next((step for number, who, step in deaths if (number, who) == (life, rank)), 0)
options = UnderTorchrun(place, pipeline, rank, int(os.environ["WORLD_SIZE"]), kill_after=kill_after)
end = asdict(Rank(options).run())
(Path(place) / f"end.{{rank}}.json").write_text(json.dumps(end))
"""


def test_processes_that_torchrun_starts_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The coordinator's process dies, too."""
    deaths = [(0, 1, 20), (1, 0, 35)]  # life, rank, and its last step
    (tmp_path / "train.py").write_text(PROGRAM)
    monkeypatch.setenv("LEAT_CLUSTER_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("LEAT_CLUSTER_TOKEN", "the token")
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2, "--max-restarts", 3]
    with ChildProcess([*run, tmp_path / "train.py", tmp_path, "dropping", json.dumps(deaths)]) as launcher:
        ended = launcher.end()
    assert ended.returncode == 0, ended.stderr
    ends = [json.loads((tmp_path / f"end.{rank}.json").read_text()) for rank in range(2)]
    # At a stored set: at least the one for which all ranks waited.
    assert ends[0]["began_at"] == ends[1]["began_at"] >= WAITS_AT, ended.stderr
    check_sums(ends, "dropping")
