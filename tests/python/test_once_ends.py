"""Programs that end, or drop a pipeline, before the function of a source that exists once has given its last record."""

import subprocess
import sys

import pytest

PROGRAM = """
import queue, time
import leat
numbers = queue.Queue()
for number in range(100): numbers.put(number)
def take(sample, all=iter(range(10**9))):
    {take}
    return True
def train():
    data = leat.once("queue@1", take).batch(8)
    with leat.Loader(data, workers=1, steps=5) as loader:
        assert [x for batch in loader for x in batch["i"].tolist()] == list(range(40))
    return data
{end}
print("the last line", flush=True)
"""

TAKES = {
    "at once": "sample['i'] = next(all)",
    "slowly": "time.sleep(0.01); sample['i'] = next(all)",
    "blocks": "sample['i'] = numbers.get()",
}
ENDS = {
    "kept": "data = train()",
    "dropped": "data = train(); del data",
    "in a cycle": "import gc; data = [train()]; data.append(data); del data; gc.collect()",
}
# A function that never returns is waited for when its pipeline is dropped, as when its loader ends.
CASES = [(take, end) for take in TAKES for end in ENDS if take != "blocks" or end == "kept"]


@pytest.mark.parametrize(("take", "end"), CASES)
def test_a_program_ends_while_its_source_has_more(take: str, end: str) -> None:
    text = PROGRAM.format(take=TAKES[take], end=ENDS[end])
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (0, "the last line\n", "")
