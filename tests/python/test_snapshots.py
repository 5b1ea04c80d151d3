"""Snapshots and logs go between Python and the command (C++) in both directions."""

import logging
import random
import time
from pathlib import Path
from typing import Any

import leat
import pytest
from support import Ranks, batch_at, digests, due, first, json_lines_of, refused, run_command

INDEXED = leat.count(400).shuffle(seed=5).batch(8)
ITERATED = leat.count(400).shuffle(seed=5).sample(0.7, seed=2).shuffle_buffer(64, seed=3).batch(8, lanes=8, end="mask")
PIPELINES = {"indexed": INDEXED, "iterated": ITERATED}


@pytest.fixture(params=PIPELINES)
def data(request: pytest.FixtureRequest) -> leat.Pipeline:
    return PIPELINES[request.param]


@pytest.fixture
def file(data: leat.Pipeline, tmp_path: Path) -> Path:
    path = tmp_path / "job.leat"
    path.write_text(str(data))
    return path


def command_log(file: Path, tmp_path: Path, *options: object) -> list[tuple[int, str]]:
    log = tmp_path / "command.log"
    log.unlink(missing_ok=True)
    run_command("run", "--pipeline", file, "--log", log, "--workers", 2, "--snapshot-dir", tmp_path / "saved", *options)
    return [(x["step"], x["digest"]) for x in json_lines_of(log.read_text()) if "digest" in x and "positions" in x]


def test_the_command_resumes_what_python_saved(data: leat.Pipeline, file: Path, tmp_path: Path) -> None:
    expected = due(data)
    loader = leat.Loader(data, workers=2)
    loader.save(str(tmp_path / "saved"), batch_at(loader, 13))
    loader.wait_saved()
    assert command_log(file, tmp_path, "--resume") == [*enumerate(expected)][14:]


def test_a_batch_of_a_closed_loader_still_has_its_snapshot(tmp_path: Path) -> None:
    with leat.Loader(INDEXED, workers=1) as loader:
        held = loader.next()
    assert held is not None
    again = leat.Loader(INDEXED, workers=1)
    with pytest.raises(leat.errors.InvalidArgument, match="another loader"):
        again.save(str(tmp_path / "saved"), held)
    assert again.restore_parts([held.snapshot()]).step == 1


@pytest.mark.parametrize("ends", ["closed", "dropped", "over"])
def test_the_last_failure_to_save_is_told(ends: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    no_directory = tmp_path / "file"
    no_directory.write_text("no directory")
    with caplog.at_level(logging.WARNING, logger="leat"):
        loader = leat.Loader(INDEXED, workers=1, steps=1)
        batch = loader.next()
        if ends == "over":
            assert loader.next() is None
        loader.save(str(no_directory), batch)
        del batch
        limit = time.monotonic() + 20
        while ends == "over" and not caplog.records and time.monotonic() < limit:
            time.sleep(0.01)
        if ends == "closed":
            loader.close()
        elif ends == "dropped":
            del loader
    told = [x.message for x in caplog.records]
    assert len(told) == 1
    assert "a snapshot was not saved" in told[0]
    assert str(no_directory) in told[0]


def test_python_resumes_what_the_command_saved(data: leat.Pipeline, file: Path, tmp_path: Path) -> None:
    expected = due(data)
    assert command_log(file, tmp_path, "--snapshot-every", 7, "--steps", 15) == [*enumerate(expected)][:15]
    saved = str(tmp_path / "saved")
    facts = leat.read_snapshot(saved)
    assert (facts.epoch, facts.step, facts.global_step, facts.world_size, facts.parts) == (0, 15, 15, 1, 1)
    assert leat.pipeline_of(facts) == leat.with_end(data, leat.end_of(data))
    for workers in (0, 3):
        loader = leat.Loader(data, workers=workers)
        at = loader.restore(saved)
        assert at is not None
        assert (at.epoch, at.step, at.global_step) == (0, 15, 15)
        assert at == loader.position()
        assert digests(loader) == expected[15:]


def test_other_numbers_of_ranks_in_the_other_language(data: leat.Pipeline, file: Path, tmp_path: Path) -> None:
    expected = due(data)
    saved = str(tmp_path / "saved")

    def of_rank(rank: int, agree: Any) -> None:
        loader = leat.Loader(data, rank=rank, world_size=2, workers=1, agree=agree)
        loader.save(saved, batch_at(loader, 8))
        loader.wait_saved()

    Ranks(2).run(of_rank)
    log = tmp_path / "{rank}.log"
    run_command(
        "run", "--pipeline", file, "--log", log, "--snapshot-dir", saved, "--snapshot-every", 8, "--world-size", 4, "--resume",
        "--steps", 20,
    )  # fmt: skip
    loader = leat.Loader(data, workers=0)
    at = loader.restore(saved)
    assert at is not None
    assert at.step == 20
    assert str(at.digest) == str(sum((leat.Hash128(x) for x in expected[:20]), leat.Hash128()))
    assert digests(loader) == expected[20:]


def test_the_newest_set_as_parts(data: leat.Pipeline, tmp_path: Path) -> None:
    saved = str(tmp_path / "saved")
    assert leat.newest_snapshot(saved) == []
    assert leat.Loader(data).restore(saved) is None
    loader = leat.Loader(data, workers=1, keep=2)
    for batch in loader:
        if batch.step % 5 == 4:
            loader.save(saved)
        if batch.step == 19:
            break
    loader.wait_saved()
    parts = leat.newest_snapshot(saved)
    assert leat.inspect_snapshot(parts).step == leat.read_snapshot(saved).step == 20
    assert len({x.parent for x in Path(saved).rglob("*") if x.is_file()}) <= 2
    again = leat.Loader(data)
    assert again.restore_parts(parts).step == 20
    assert digests(again) == due(data)[20:]


def test_a_snapshot_of_a_batch_is_one_of_the_position(data: leat.Pipeline) -> None:
    loader = leat.Loader(data, workers=2)
    batch = batch_at(loader, 5)
    facts = [leat.inspect_snapshot([x]) for x in (batch.snapshot(), loader.snapshot())]
    assert [(x.step, x.digest, x.samples) for x in facts] == [(6, loader.position().digest, 48)] * 2
    assert facts[0].operators["op"] == "batch"
    assert (facts[0].lanes, facts[0].bad["corrupt"], facts[0].left_out, facts[0].partial) == (8, 0, [], False)
    ahead = next(loader)
    assert leat.inspect_snapshot([batch.snapshot()]).step == ahead.step == 6


def test_seeking_skipping_and_leaving_out(data: leat.Pipeline) -> None:
    expected = due(data)
    loader = leat.Loader(data)
    loader.seek(0, 11)
    assert digests(loader) == expected[11:]
    loader = leat.Loader(data)
    loader.skip_first_batches(4)
    assert digests(loader) == expected[4:]
    loader = leat.Loader(data, epochs=2)
    loader.leave_out_steps(3, 5)
    found = digests(loader)
    assert found == expected[:3] + expected[6:] + due(data, 1)
    loader.rewind()
    assert digests(loader) == found
    loader = leat.Loader(data, epochs=2)
    first_of_all = next(loader)
    loader.abandon_epoch()
    assert [first_of_all.step, *digests(loader)] == [0, *due(data, 1)]
    assert digests(leat.Loader(data, epochs=3, steps=7)) == expected[:7]


def test_weights_changed_in_mid_run() -> None:
    def planned(steps: int, **options: Any) -> list[list[str]]:
        preview = leat.OrderPreview(data, **options)
        return [next(preview).ids for _ in range(steps)]

    def ids(x: leat.Loader, steps: int) -> list[list[str]]:
        return [next(x).ids() for _ in range(steps)]

    inputs = [leat.count(30), leat.count(20).shuffle(seed=1)]
    data = leat.mix(inputs, weights=[0.75, 0.25], schedule={9: [1, 0]}).batch(4, lanes=2, end="cycle")
    due = planned(14, weights={5: [0, 1]})
    assert due[:5] == planned(5)
    assert due[5:9] != planned(4, step=5)
    loader = leat.Loader(data, workers=1)
    found = ids(loader, 5)
    loader.set_weights([0, 2])
    part = loader.snapshot()
    assert found + ids(loader, 9) == due
    assert leat.inspect_snapshot([part]).weights == {5: [0, 2]}
    other = leat.Loader(data)
    other.restore_parts([part])
    other.set_weights([0, 2], from_step=5)
    assert ids(other, 9) == due[5:]
    refused("5:0,2, as was said before", other.set_weights, [1, 1], from_step=5)
    refused("past", other.set_weights, [1, 1], from_step=2)


def test_what_the_inputs_of_a_mix_gave(tmp_path: Path) -> None:
    for name, line in (("a", "some words"), ("b", "few")):
        (tmp_path / name).write_text(f"{line}\n" * 40)
    inputs = [leat.lines(str(tmp_path / name), ranges=2) for name in "ab"]
    data = leat.mix(inputs, weights=[3, 1], cost="text").batch(4, lanes=2, end="cycle")
    loader = leat.Loader(data, workers=1)
    given = {"some words": 0, "few": 0}
    for _ in range(5):
        batch = next(loader)
        for text in batch.text("text"):
            given[text] += 1
        parts = [batch.snapshot()]
        expected = [
            {"name": str(tmp_path / name), "weight": weight, "samples": given[line], "cost": given[line] * len(line)}
            for name, weight, line in (("a", 3, "some words"), ("b", 1, "few"))
        ]
        assert loader.stats()["mixes"] == [{"cost": "text", "inputs": expected}]
        assert leat.inspect_snapshot(parts).mixes == loader.stats()["mixes"]
    resumed = leat.Loader(data, rank=0, world_size=2)
    resumed.restore_parts(parts)
    assert resumed.stats()["mixes"] == loader.stats()["mixes"]
    other = leat.Loader(data, rank=1, world_size=2)
    other.restore_parts(parts)
    assert [x["samples"] for x in other.stats()["mixes"][0]["inputs"]] == [0, 0]


def test_another_pipeline_is_refused_with_all_differences(data: leat.Pipeline) -> None:
    part = first(data).snapshot()
    other = leat.count(401).shuffle(seed=6).batch(8)
    with pytest.raises(leat.Error) as raised:
        leat.Loader(other).restore_parts([part])
    assert raised.value.code == "mismatch"
    assert len(raised.value.list) > 0
    assert all(x in str(raised.value) for x in raised.value.list)
    for torn in (b"", b"nothing", part[:-7], part[:40] + b"\xff" + part[41:]):
        with pytest.raises(leat.Error) as raised:
            leat.Loader(data).restore_parts([torn])
        assert raised.value.code in ("bad_snapshot", "invalid_argument")


def test_differences_that_are_allowed() -> None:
    part = first(leat.count(400).map("a@1", lambda s: None).batch(8)).snapshot()
    changed = leat.count(400).map("a@2", lambda s: None).batch(8)
    with pytest.raises(leat.Error) as raised:
        leat.Loader(changed).restore_parts([part])
    names = [x.partition(":")[0] for x in raised.value.list]
    assert names
    assert leat.Loader(changed).restore_parts([part], allow=names).step == 1


def test_python_logs_are_verified_by_the_command(data: leat.Pipeline, file: Path, tmp_path: Path) -> None:
    order = tmp_path / "order"
    order.write_text(run_command("order", "--pipeline", file))
    stop = random.Random(7).randrange(5, 20)
    loader = leat.Loader(data, workers=2)
    log = leat.RunLog(str(tmp_path / "0.log"), loader, program="test_snapshots")
    for batch in loader:
        log.append(batch)
        if batch.step == stop:
            break
    part = batch.snapshot()

    def of_rank(rank: int, agree: Any) -> None:
        loader = leat.Loader(data, rank=rank, world_size=2, workers=rank, agree=agree)
        loader.restore_parts([part])
        log = leat.RunLog(str(tmp_path / f"1.{rank}.log"), loader, program="test_snapshots")
        for batch in loader:
            log.append(batch)

    Ranks(2).run(of_rank)
    both = f"{tmp_path}/1.0.log,{tmp_path}/1.1.log"
    assert f"good: {sum(len(x['ids']) for x in json_lines_of(order.read_text()))} rows" in run_command(
        "verify", order, tmp_path / "0.log", both
    )
    lines = (tmp_path / "0.log").read_text().splitlines()
    (tmp_path / "lost.log").write_text("\n".join(lines[:-2] + lines[-1:]) + "\n")
    with pytest.raises(AssertionError, match="lost"):
        run_command("verify", order, tmp_path / "lost.log", both)


def test_journals_keep_what_was_taken(tmp_path: Path) -> None:
    left = iter(range(1000))

    def take(sample: leat.Sample) -> bool:
        sample["i"] = next(left)
        return True

    def job() -> leat.Loader:
        data = leat.once("queue@1", take).journal(str(tmp_path / "journal"), file_bytes=1 << 16).batch(4, end="mask")
        return leat.Loader(data, workers=1, prefetch=2, steps=20)

    loader = job()
    seen = [next(loader)["i"].tolist() for _ in range(5)]
    part = loader.snapshot()
    loader.keep([part])
    seen_after = [next(loader)["i"].tolist() for _ in range(3)]
    loader.close()
    loader = job()
    loader.restore_parts([part])
    loader.let_go([part])
    found = [x["i"].tolist() for x in loader]
    assert found[:3] == seen_after
    assert [i for rows in seen + found for i in rows][:60] == [*range(60)]
