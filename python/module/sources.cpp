#include <leat/once.hpp>
#include <leat/sources.hpp>
#include <leat/streams.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/convert/remote.hpp"
#include "python/module/convert/values.hpp"
#include "python/module/module.hpp"
#include "python/module/processes/process_pool.hpp"
#include "python/module/sample.hpp"
#include "python/module/stages.hpp"
#include "python/module/without_gil.hpp"

#include <string>
#include <utility>

namespace leat::python {

namespace {

template <class Source, class Options>
pipeline_value open(Source source, const patterns& names, const Options& options) {
  return {with_patterns([&](const auto& x) { return source(x, options); }, names)};
}

/// The method that reads a record. Each access creates a new bound method, so the one that C++
/// calls must be kept.
nb::object method_of(nb::handle source) {
  return nb::object(source.attr(nb::hasattr(source, "read") ? "read" : "__getitem__"));
}

/// A source of numbered records: a Python object with __len__, and with __getitem__, which returns
/// a dict, or read(record, sample), which sets fields.
pipeline_value indexed_of(std::string name, nb::object from, std::size_t processes) {
  pipeline_value result{count(0)};
  const nb::handle kept = result.kept.add(std::move(from));
  keep_part(result.kept, "indexed", name, "", nb::make_tuple(kept),
            dict_with("processes"_a = processes));
  if (processes > 0) {
    const auto make = nb::module_::import_("leat.processes").attr("reader_of");
    auto pool = pool_of(result.kept, name, processes, recipe_type()(make, kept));
    result.value = from_function(std::move(name), nb::len(kept), reader_in(std::move(pool)));
    return result;
  }
  const nb::handle method = result.kept.add(method_of(kept));
  result.value = from_function(std::move(name), nb::len(kept), reader_of(method));
  return result;
}

void bind_arrays(nb::module_& m) {
  m.def(
      "tokens",
      [](const patterns& pattern, dtype type, std::uint64_t length, std::uint64_t stride,
         bool drop_last, std::uint64_t random_windows, std::uint64_t seed,
         const remote_argument& remote) {
        return open(
            [&](const auto& x, const token_options& how) { return tokens(x, type, length, how); },
            pattern, token_options{stride, drop_last, random_windows, seed, remote.options()});
      },
      "pattern"_a, "dtype"_a, "length"_a, nb::kw_only(), "stride"_a = 0, "drop_last"_a = true,
      "random_windows"_a = 0, "seed"_a = 0, "remote"_a = nb::none(),
      "Windows of files of tokens, without headers, or of arrays of rank 1 (*.npy). Field "
      "\"tokens\": of that type [length]. `stride`: from one window to the next; 0: as far as a "
      "window is long. `random_windows`: as many are drawn, with `seed`.");
  m.def(
      "npy",
      [](const patterns& pattern, const remote_argument& remote) {
        return open([](const auto& x, const auto& how) { return npy(x, how); }, pattern,
                    remote.options());
      },
      "pattern"_a, nb::kw_only(), "remote"_a = nb::none(),
      "NumPy arrays: records along the first axis. Field \"value\".");
  m.def(
      "megatron",
      [](const patterns& prefix, const remote_argument& remote) {
        return open([](const auto& x, const auto& how) { return megatron(x, how); }, prefix,
                    remote.options());
      },
      "prefix"_a, nb::kw_only(), "remote"_a = nb::none(),
      "Documents of Megatron-LM's data sets, PREFIX.bin and PREFIX.idx. Field \"tokens\", ragged.");
}

void bind_files(nb::module_& m) {
  m.def(
      "tar_shards",
      [](const patterns& pattern, path_text index_dir, bool allow_torn,
         const remote_argument& remote) {
        return open([](const auto& x, const tar_options& how) { return tar_shards(x, how); },
                    pattern, tar_options{std::move(index_dir), allow_torn, remote.options()});
      },
      "pattern"_a, nb::kw_only(), "index_dir"_a = "", "allow_torn"_a = false,
      "remote"_a = nb::none(),
      "Tar shards in webdataset layout: paths with braces and globs. Fields are the members' "
      "extensions, as bytes.");
  m.def(
      "image_folder",
      [](path_text directory, path_text index_dir, const remote_argument& remote) {
        return pipeline_value{
            image_folder(std::move(directory), {std::move(index_dir), remote.options()})};
      },
      "directory"_a, nb::kw_only(), "index_dir"_a = "", "remote"_a = nb::none(),
      "A folder with one subfolder per class: fields \"jpg\", \"cls\" and \"class\".");
  m.def(
      "class_names",
      [](const path_text& directory, const remote_argument& remote) {
        const auto how = remote.options();
        return without_gil([&] { return class_names(directory, how); });
      },
      "directory"_a, nb::kw_only(), "remote"_a = nb::none(),
      "The classes of such a folder, by number.");
  m.def(
      "raw_records",
      [](path_text path, dtype type, const shape& dims, bool drop_last,
         const remote_argument& remote) {
        return pipeline_value{
            raw_records(std::move(path), type, dims, {drop_last, remote.options()})};
      },
      "path"_a, "dtype"_a, "shape"_a = nb::tuple(), nb::kw_only(), "drop_last"_a = false,
      "remote"_a = nb::none(),
      "A file of consecutive records of a shape and type, without headers. Field \"value\".");
  bind_arrays(m);
  m.def(
      "tar_stream",
      [](const patterns& pattern, file_order order, std::uint64_t seed,
         const remote_argument& remote) {
        return open([](const auto& x, const stream_options& how) { return tar_stream(x, how); },
                    pattern, stream_options{order, seed, remote.options()});
      },
      "pattern"_a, nb::kw_only(), "order"_a = file_order::stored, "seed"_a = 0,
      "remote"_a = nb::none(),
      "The samples of tar files, read in sequence; they may be compressed.");
  m.def(
      "lines",
      [](const patterns& pattern, std::uint64_t ranges, file_order order, std::uint64_t seed,
         const remote_argument& remote) {
        return open([](const auto& x, const line_options& how) { return lines(x, how); }, pattern,
                    line_options{ranges, order, seed, {}, remote.options()});
      },
      "pattern"_a, nb::kw_only(), "ranges"_a = 1, "order"_a = file_order::stored, "seed"_a = 0,
      "remote"_a = nb::none(), "The lines of text files. Field \"text\".");
  m.def(
      "json_lines",
      [](const patterns& pattern, std::uint64_t ranges, file_order order, std::uint64_t seed,
         std::map<std::string, std::string> types, const remote_argument& remote) {
        return open([](const auto& x, const line_options& how) { return json_lines(x, how); },
                    pattern, line_options{ranges, order, seed, std::move(types), remote.options()});
      },
      "pattern"_a, nb::kw_only(), "ranges"_a = 1, "order"_a = file_order::stored, "seed"_a = 0,
      "types"_a = std::map<std::string, std::string>{}, "remote"_a = nb::none(),
      "Lines that are each a JSON object, whose members become fields. `types`: what fields are, "
      "whatever their values look like: {\"score\": \"f64\", \"id\": \"u64\", \"tags\": "
      "\"bytes\"}.");
}

void bind_own(nb::module_& m) {
  m.def(
      "count",
      [](std::uint64_t records, std::size_t record_bytes) {
        return pipeline_value{count(records, record_bytes)};
      },
      "records"_a, "record_bytes"_a = 8, "Virtual records. Field \"value\": uint8.");
  m.def(
      "indexed", &indexed_of, "name"_a, "source"_a, nb::kw_only(), "processes"_a = 0,
      nb::sig("def indexed(name: str, source: collections.abc.Sized, *, processes: int = 0) -> "
              "Pipeline"),
      "Your records by number: an object with `__len__`, and `__getitem__(record)`, which gives a "
      "dict of fields, or `read(record, sample)`, which sets them. `name` is \"name@version\". "
      "`processes`: it is pickled, and read in as many processes; 0: in leat's threads.");
  m.def(
      "from_function",
      [](std::string name, std::uint64_t records, nb::callable read) {
        pipeline_value result{count(0)};
        const nb::handle kept = result.kept.add(std::move(read));
        keep_part(result.kept, "from_function", name, "", nb::make_tuple(records, kept));
        result.value = from_function(std::move(name), records, reader_of(kept));
        return result;
      },
      "name"_a, "records"_a, "read"_a,
      nb::sig("def from_function(name: str, records: int, read: collections.abc.Callable[..., "
              "typing.Any]) -> Pipeline"),
      "Records made by a function of their number: `read(record)` gives a dict of fields, or "
      "`read(record, sample)` sets them.");
  m.def(
      "sequential",
      [](std::string name, std::uint64_t units, nb::callable open, file_order order,
         std::uint64_t seed) {
        pipeline_value result{count(0)};
        const nb::handle kept = result.kept.add(std::move(open));
        keep_part(result.kept, "sequential", name, "", nb::make_tuple(units, kept));
        const auto made = made_objects::shown_by(result.kept);
        result.value = sequential(std::move(name), units, opener_of(kept, made), {order, seed, {}});
        return result;
      },
      "name"_a, "units"_a, "open"_a, nb::kw_only(), "order"_a = file_order::stored, "seed"_a = 0,
      nb::sig("def sequential(name: str, units: int, open: collections.abc.Callable[[int], "
              "typing.Any], *, order: typing.Literal['stored', 'shuffled'] = 'stored', seed: int = "
              "0) -> Pipeline"),
      "Your records that come one after the other: `open(unit)` gives an iterator of dicts, or an "
      "object with `next(sample)` -> bool, and perhaps `save()` and `load(state)`.");
  m.def(
      "once",
      [](std::string name, nb::callable next) {
        pipeline_value result{count(0)};
        const nb::handle kept = result.kept.add(std::move(next));
        keep_part(result.kept, "once", name, "", nb::make_tuple(kept));
        result.value = once(std::move(name), once_reader_of(kept));
        return result;
      },
      "name"_a, "next"_a,
      nb::sig(
          "def once(name: str, next: collections.abc.Callable[[Sample], typing.Any]) -> Pipeline"),
      "Records that exist once: `next(sample)` sets its fields and returns True, or False at the "
      "end. A thread of leat's calls it; it may block. In a job of several processes only rank 0 "
      "calls it, for all ranks.");
  m.def(
      "standard_input", [] { return pipeline_value{standard_input()}; },
      "The lines of standard input; in a job of several processes that of rank 0, for all ranks.");
  m.def(
      "feed", [](std::string name) { return pipeline_value{feed(std::move(name))}; }, "name"_a,
      "Records that exist once in another process, for all ranks of a job: `leat feed NAME`, or "
      "Feed, serves them. Loaders of a cluster are found by them; one alone needs feeds_at.");
  m.def(
      "register_source",
      [](std::string name, nb::object from) {
        note_registered("indexed", name);
        const nb::handle method = method_of(from).release(); // as long as the process lives
        const auto made = from_function(name, nb::len(from), reader_of(method));
        leat::register_source(std::move(name), leat::indexed_sources(made).front());
      },
      "name"_a, "source"_a,
      nb::sig("def register_source(name: str, source: collections.abc.Sized) -> None"),
      "Makes such a source known to parse_pipeline.");
  m.def(
      "_register_indexed",
      [](std::string name, const pipeline_value& x) {
        static auto* const kept = new kept_objects; // as long as the process lives
        kept->add(x.kept);
        leat::register_source(std::move(name), leat::indexed_sources(x.value).front());
      },
      "name"_a, "pipeline"_a);
  m.def(
      "register_sequential",
      [](std::string name, nb::callable open) {
        note_registered("sequential", name);
        leat::register_sequential(std::move(name),
                                  opener_of(open.release(), std::make_shared<made_objects>()));
      },
      "name"_a, "open"_a,
      nb::sig("def register_sequential(name: str, open: collections.abc.Callable[[int], "
              "typing.Any]) -> None"),
      "Makes such a source known to parse_pipeline.");
  m.def(
      "register_once",
      [](std::string name, nb::callable next) {
        note_registered("once", name);
        leat::register_once(std::move(name), once_reader_of(next.release()));
      },
      "name"_a, "next"_a,
      nb::sig("def register_once(name: str, next: collections.abc.Callable[[Sample], typing.Any]) "
              "-> None"),
      "Makes such a source known to parse_pipeline.");
}

/// The records of one source, as a sequence of dicts.
struct records {
  std::shared_ptr<const source> of;
  kept_objects kept;
};

/// A unit's samples as an iterator of dicts.
struct unit {
  std::unique_ptr<sequential_reader> reader;
  kept_objects kept;
};

nb::dict read_record(const records& x, std::uint64_t record) {
  if (record >= x.of->size())
    throw nb::index_error("no such record");
  sample into;
  {
    const nb::gil_scoped_release released;
    x.of->read(record, into);
  }
  return fields_of(into);
}

void bind_readers(nb::module_& m) {
  nb::class_<records>(m, "Records", nb::type_slots(garbage_slots<records>),
                      "The records of a source, by number, as dicts of fields.")
      .def("__len__", [](const records& x) { return x.of->size(); })
      .def("__getitem__", &read_record,
           nb::sig("def __getitem__(self, record: int, /) -> dict[str, typing.Any]"))
      .def(
          "id",
          [](const records& x, std::uint64_t record) {
            std::string id;
            x.of->append_id(record, id);
            return id;
          },
          "record"_a, "Id of a record.")
      .def_prop_ro(
          "name", [](const records& x) { return x.of->name(); }, "Name of the source.");
  m.def(
      "indexed_sources",
      [](nb::handle_t<pipeline_value> x) {
        std::vector<records> result;
        const auto& value = nb::cast<pipeline_value&>(x);
        // A handler of progress may need the GIL.
        auto found = without_gil([&] { return leat::indexed_sources(value.value); });
        for (auto& of : found)
          result.push_back({std::move(of), value.kept});
        return result;
      },
      "pipeline"_a, nb::sig("def indexed_sources(pipeline: Pipeline) -> list[Records]"),
      "The sources of a pipeline whose records are numbered, to be read without a loader.");
  nb::class_<unit>(m, "Unit", nb::type_slots(garbage_slots<unit>),
                   "The samples of one unit of a source, in stored order.")
      .def(
          "__iter__", [](nb::object x) { return x; }, nb::sig("def __iter__(self) -> Unit"))
      .def(
          "__next__",
          [](unit& x) {
            sample into;
            bool some = false;
            {
              const nb::gil_scoped_release released;
              some = x.reader->next(into);
            }
            if (!some)
              throw nb::stop_iteration();
            return fields_of(into);
          },
          nb::sig("def __next__(self) -> dict[str, typing.Any]"));
  m.def(
      "open_unit",
      [](nb::handle_t<pipeline_value> x, std::uint64_t number) {
        const auto& value = nb::cast<pipeline_value&>(x);
        return unit{leat::open_unit(value.value, number), value.kept};
      },
      "pipeline"_a, "unit"_a = 0,
      nb::sig("def open_unit(pipeline: Pipeline, unit: int = 0) -> Unit"),
      "The samples of one unit of a pipeline that is a sequential source and nothing else.");
}

} // namespace

void bind_sources(nb::module_& m) {
  bind_files(m);
  bind_own(m);
  bind_readers(m);
}

} // namespace leat::python
