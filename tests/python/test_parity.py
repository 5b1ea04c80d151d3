"""All of leat's C++ names are in Python, or the reason why not is here."""

import ast
import fnmatch
from pathlib import Path

import leat
import pytest
from cpp_names import public_names

ROOT = Path(__file__).resolve().parents[2]
STUB = Path(leat.__file__).parent / "_leat.pyi"

# Patterns of C++ names that Python does not have under that name.
REASONS = {
    "*_options": "options are keyword arguments",
    "remote_options.*": "keys of the dict remote",
    "bucket_place*": "a str: the key bucket_in of the dict remote",
    "secret*": "a str, as the dict remote has it",
    "*.bool": "an empty lease is None, an empty set an empty list",
    "to_string": "str(x)",
    "bytes_of": "Sample.to_dict; what processes= sends",
    "set_fields": "Sample.set; what processes= sends",
    "tensor_view*": "arrays of NumPy, and of DLPack",
    "ragged_tensor_view*": "leat.Ragged",
    "padd*": "leat.Ragged.padded",
    "ragged_view*": "batch.bytes(name), batch.text(name) and leat.Ragged",
    "field_view*": "batch.field(name), and arrays",
    "bf16*": "ml_dtypes.bfloat16",
    "f16*": "numpy.float16",
    "dtype": "element types are text, or dtypes of NumPy and torch",
    "dtype.*": "element types are text, or dtypes of NumPy and torch",
    "dtype_of": "array.dtype",
    "parse_dtype": "every call takes the text",
    "last_dtype": "for loops over an enumeration",
    "size_of": "array.itemsize",
    "shape": "a tuple",
    "shape.*": "a tuple",
    "device*": "arrays say it: __dlpack_device__",
    "max_dimensions": "array.ndim",
    "image_extent*": "(height, width)",
    "image_size*": "(height, width)",
    "pixel_rect*": "(x, y, width, height)",
    "resize_plan": "keyword arguments of ImageDecoder.make",
    "tensor_form*": "keyword arguments of ImageDecoder.make",
    "*.type": "the argument dtype",
    "error_details*": "attributes of leat.Error",
    "error.details": "attributes of leat.Error",
    "errc*": "leat.Error.code, a str, and its classes",
    "cause*": "a str, as BadRow.why has it",
    "bad_sample.why": "BadSample.cause",
    "patience*": "signal handlers of Python: every call that waits or takes long lets them run",
    "per_worker": "the argument per_worker of map",
    "filter_stage.of_id": "the constructor takes the function",
    "flat_map_stage.children": "the constructor takes it",
    "scan_stage.*": "the constructor takes the functions",
    "tokenize_options.*": "leat.tokenize takes them by name",
    "token_encoder": "leat.tokenize's stages have its members",
    "token_encoder.*": "leat.tokenize's stages have its members",
    "token_decoder": "leat.tokenize's stages have decode; a processor of sentencepiece decodes its own",
    "token_decoder.*": "leat.tokenize's stages have decode; a processor of sentencepiece decodes its own",
    "tokenize_content": "leat.tokenize takes tokenizers that are objects",
    "parse_cause": "a str, as BadRow.why has it",
    "parse_hash128": "Hash128(text)",
    "num_*": "for loops over an enumeration",
    "name_of": "map(name, function) takes the name",
    "is_map": "operators_of(x)['op'] == 'map'",
    "for_each_operator": "operators_of(x) is a tree of dicts",
    "operator_facts*": "dicts: see operators_of",
    "node_option*": "dicts: see operators_of",
    "pipeline_facts*": "dicts: see operators_of; the lanes of SnapshotFacts",
    "plan_round*": "dicts: see PlanGraph.rounds",
    "plan_step*": "dicts: see PlanGraph.rounds",
    "plan_cut*": "dicts: see PlanGraph.cuts",
    "far_table.part": "ranges are pairs, and what read returns is bytes",
    "source_facts*": "the dict 'data' of operators_with_data",
    "stored_versions*": "insides of snapshots",
    "row_index_facts*": "build_row_index gives a dict",
    "put_index_facts*": "put_indexes gives a dict",
    "check_put_indexes": "put_indexes refuses the same before it reads any data",
    "lane_sizes*": "SnapshotFacts has what a resume needs; the command shows sizes of lanes",
    "snapshot_facts.state": "SnapshotFacts has what a resume needs; the command shows sizes of lanes",
    "snapshot_facts.pipeline": "SnapshotFacts.operators and pipeline_of",
    "snapshot_set*": "newest_snapshot gives the parts",
    "snapshot_search*": "keyword arguments",
    "step_range*": "(first, last)",
    "resume_point*": "leat.Position",
    "own_loader_place*": "insides of own_loader",
    "own_loader_snapshots*": "insides of own_loader",
    "own_loader_functions*": "keyword arguments of OwnLoader",
    "adapted_batch*": "leat.OwnBatch",
    "epoch_agreement*": "a tuple of three integers",
    "fault_drill.*": "tuples: see FaultDrill",
    "progress*": "arguments of the handler",
    "report": "for sources in C++ that open much",
    "recorder_of": "for programs in C++ that record spans of their own",
    "trace_recorder": "for programs in C++ that record spans of their own",
    "trace.default_max_bytes": "the default of Trace",
    "*_stats*": "dicts: see Loader.stats and test_statistics",
    "loader_options.while_waiting": "ctrl-C ends a next() that waits",
    "loader_options.batch_memory": "a resource in C++; device= pins what it copies",
    "device_field*": "a DeviceArray, or a Ragged of two",
    "batch.device_field": "Batch.on_device",
    "lease*": "a Batch is its lease",
    "batch.view": "batch[name]",
    "batch.mutable_*": "batch[name] is writable",
    "batch.ragged": "batch[name] is a Ragged",
    "sample.view": "sample[name]",
    "sample.make_tensor": "sample.make",
    "context.begins": "processes= says it for each sample; functions of many samples are in C++",
    "data_passed_over*": "dicts",
    "worker_record": "what leat notes of its own threads",
    "has_abandoned": "a notice says it; the interpreter ends",
    "context.rng": "its numbers are methods of Context",
    "rng*": "its numbers are methods of Context",
    "philox4x32": "the generator under Context",
    "per_worker_factory*": "the argument per_worker of map",
    "*_stage.make": "the constructor takes the function",
    "map_stage.make_together": "the argument batched of map",
    "map_options*": "the argument isolate of map",
    "flat_map_function*": "arguments of FlatMapStage",
    "scan_function*": "arguments of ScanStage",
    "sequential_reader*": "an iterator, or an object with next, save and load",
    "source*": "an object with __len__ and __getitem__ or read",
    "stored_*": "for sources in C++ that say where bytes lie",
    "extent*": "for sources in C++ that say where bytes lie",
    "from_vector": "from_function(name, len(x), lambda i: {field: x[i]})",
    "pipeline.root": "operators_of",
    "operator_node": "operators_of",
    "train_image_plan": "takes a generator in C++; ImageDecoder.make takes any part",
    "eval_image_plan": "ImageDecoder.make takes any part",
    "mix_counts*": "dicts: see Loader.stats and SnapshotFacts.mixes",
    "mixed_input*": "dicts: see Loader.stats and SnapshotFacts.mixes",
    "weight_change*": "dicts of weights by their steps",
    "column_kind*": "members of leat._columns.Column",
    "table_column*": "leat._columns.Column",
    "table_block*": "a tuple: what register_table_reader takes",
    "table_file*": "a tuple: what register_table_reader takes",
    "table_range": "a pair: what a reader of tables gives for FarTables",
    "table_reader*": "two functions: what register_table_reader takes",
    "coordinator_options.*": "the command: leat coordinator",
    "observer_options.*": "the command: leat cluster status",
    "job_coordinator*": "the command: leat coordinator",
    "make_certificate_authority": "the command: leat certs init",
    "issue_certificate": "the command: leat certs issue",
    "certificate_options.*": "the command: leat certs issue",
    "cluster_observer*": "the command: leat cluster status",
    "drill": "FaultDrill",
}  # fmt: skip
# The same for several names.
for reason, names in {
    "Python iterates by __iter__": "*.iterator* *.begin *.end",
    "a part of a default value, not a name": "*_options.27 trace.20 table_options.29",
    "what processes= is made from":
        "child_pool* child_recipe* child_start* child_content child_requests child_socket end_with_parent function_call* "
        "map_in filter_in flat_map_in scan_in reader_in serve_functions served* set_map_children map_isolated_in map_by_name "
        "map_stage.make_isolated",
    "arguments of run_worker": "worker_options*",
    "arguments of run_feed": "feed_options*",
    "what processes= sends": "write_fields num_field_bytes read_bytes*",
    "for sources in C++": "sample.borrow sample.scratch sample.count_read",
    "measurements of the decoder: leat bench": "decode_part* decode_times* image_decoder.time",
    "enumerators are text":
        "bad_sample_policy deduplicate_kind dispatch_policy epoch_end file_format file_order image_layout mix_rule "
        "mix_schedule mix_stop pack_cut pack_fit padding_mode shuffle_kind null_policy white_space unicode_form "
        "link_role* parse_link_role rank_loss*",
    "what the functions of the module are made from":
        "function_type* function_parameter* describe_function parameter_form* parameter_range*",
    "a parameter of function_type": "percentage length field share",
    "lists of function_type": "maps predicates flat_maps scans",
    "insides": "runtime_core batch_slot job_plan job_progress lease_desk loader_job loader_seat",
    "the command: leat cluster status --json":
        "cluster_report* cluster_phase* job_position* rank_state* rank_report* feed_report* waiting_report* ranks_wanted*",
}.items():  # fmt: skip
    REASONS |= dict.fromkeys(names.split(), reason)


def camel(name: str) -> str:
    return "".join(x.capitalize() for x in name.split("_"))


@pytest.fixture(scope="module")
def python_names() -> set[str]:
    """Names of the package, CLASS.NAME of members, and all arguments and literals as ().NAME."""
    found = set(dir(leat)) | {f"{x}.{y}" for x, of in vars(leat).items() if isinstance(of, type) for y in dir(of)}
    for x in ast.walk(ast.parse(STUB.read_text())):
        if isinstance(x, ast.arg):
            found.add(f"().{x.arg}")
        elif isinstance(x, ast.Constant) and isinstance(x.value, str):
            found.add(f"().{x.value}")
    return found


def is_in(python: set[str], name: str) -> bool:
    owner, _, last = name.rpartition(".")
    if not owner:
        return name in python or camel(name) in python
    if f"{camel(owner)}.{last}" in python or (last == owner and camel(owner) in python):
        return True
    return camel(owner) not in python and f"().{last}" in python


def test_every_name_is_there_or_has_a_reason(python_names: set[str]) -> None:
    cpp = public_names(ROOT)
    assert len(cpp) > 700
    missing = {x for x in cpp if not is_in(python_names, x)}
    without = {x for x in missing if not any(fnmatch.fnmatchcase(x, pattern) for pattern in REASONS)}
    assert without == set()
    stale = {x for x in REASONS if not fnmatch.filter(missing, x)}
    assert stale == set()


def test_nothing_is_hidden_by_another_name() -> None:
    for x in leat.__all__:
        assert type(getattr(leat, x)).__name__ != "module", x
