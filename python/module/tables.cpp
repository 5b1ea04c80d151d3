#include "runtime/base/error_in_flight.hpp"

#include <leat/tables.hpp>

#include "python/module/callables.hpp"
#include "python/module/convert/arrays.hpp"
#include "python/module/convert/casters.hpp"
#include "python/module/convert/remote.hpp"
#include "python/module/errors.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"

#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace leat::python {

namespace {

template <class T>
std::span<const T> elements_of(const any_array& x) {
  return {static_cast<const T*>(x.data()), x.size()};
}

/// The numbers of an array of this type, valid as long as `x` lives; empty if `x` is None.
template <class T>
std::span<const T> numbers_in(nb::handle x) {
  if (x.is_none())
    return {};
  const auto array = nb::cast<any_array>(x);
  if (array.dtype() != nb::dtype<T>())
    throw nb::type_error("offsets are int64, nulls uint8");
  return elements_of<T>(array);
}

/// `from` is a leat._columns.Column.
table_column column_of(nb::handle from) {
  const auto array = nb::cast<any_array>(from.attr("values"));
  const nb::object dims = from.attr("dims");
  const nb::object offsets = from.attr("offsets");
  table_column x{.name = nb::cast<std::string>(from.attr("name")), .type = dtype_of_array(array)};
  x.kind = dims.is_none()      ? column_kind::bytes
           : offsets.is_none() ? column_kind::dense
                               : column_kind::ragged;
  if (!dims.is_none())
    x.dims = nb::cast<shape>(dims);
  x.values = {static_cast<const std::byte*>(array.data()), array.nbytes()};
  x.offsets = numbers_in<std::int64_t>(offsets);
  x.nulls = numbers_in<std::uint8_t>(nb::object(from.attr("nulls")));
  return x;
}

/// `from`: (BEGIN, END) of all ranges of each block.
std::vector<std::vector<table_range>> ranges_of(nb::handle from) {
  using pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
  std::vector<std::vector<table_range>> all;
  for (const auto& block : nb::cast<std::vector<pairs>>(from)) {
    auto& made = all.emplace_back();
    for (const auto& [begin, end] : block)
      if (begin < end)
        made.push_back({begin, end - begin});
  }
  return all;
}

/// Whether the operating system refused to read: then the OSError has a number. pyarrow raises
/// those for damaged content without one.
bool is_of_the_file(const nb::python_error& problem) {
  return PyErr_GivenExceptionMatches(problem.value().ptr(), PyExc_OSError) != 0
         && !nb::object(problem.value().attr("errno")).is_none();
}

/// A file that a function in Python reads. Remembers why a read failed: functions, and packages
/// that they call, make something else of that.
class file_of_python : not_copied {
public:
  explicit file_of_python(const far_table& from) : from_(from) {}

  const far_table& from() const noexcept { return from_; }
  void rethrow_failure() const {
    if (failure_)
      std::rethrow_exception(failure_);
  }

  nb::list read(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& ranges) {
    nb::list made;
    std::vector<far_table::part> parts;
    for (const auto& [begin, end] : ranges) {
      if (begin > end || end > from_.size())
        throw nb::value_error("ranges are (BEGIN, END), within the file");
      const auto bytes = nb::steal<nb::bytes>(
          PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(end - begin)));
      if (!bytes)
        throw nb::python_error();
      parts.push_back({begin,
                       {reinterpret_cast<std::byte*>(PyBytes_AS_STRING(bytes.ptr())),
                        static_cast<std::size_t>(end - begin)}});
      made.append(bytes);
    }
    try {
      const nb::gil_scoped_release released; // nobody else has the new bytes
      from_.read(parts);
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
    return made;
  }

private:
  const far_table& from_;
  std::exception_ptr failure_;
};

/// Reads files with two Python functions, which live as long as the process.
class python_table_reader final : public table_reader {
public:
  python_table_reader(nb::handle open, nb::handle read, bool takes_far)
      : open_(open), read_(read), takes_far_(takes_far) {}

  table_file open(const std::string& path, const table_options& options) const override {
    const gil_held held;
    return open_any(nb::cast(path), options);
  }
  table_block read(const std::string& path, std::uint64_t block,
                   const table_options& options) const override {
    const gil_held held;
    return read_any(nb::cast(path), path, block, options);
  }

  table_file open_far(const far_table& file, const table_options& options) const override {
    if (!takes_far_)
      return table_reader::open_far(file, options);
    const gil_held held;
    file_of_python given{file};
    return open_any(nb::cast(&given, nb::rv_policy::reference), options, &given);
  }
  table_block read_far(const far_table& file, std::uint64_t block,
                       const table_options& options) const override {
    const gil_held held;
    file_of_python given{file};
    return read_any(nb::cast(&given, nb::rv_policy::reference), file.name(), block, options,
                    &given);
  }

private:
  /// `far`: whose failures come before what the functions raise.
  table_file open_any(const nb::object& file, const table_options& options,
                      const file_of_python* far = nullptr) const {
    try {
      const nb::object found = open_(file, options.columns, options.types);
      return {nb::cast<std::vector<std::uint64_t>>(found[0]), nb::cast<std::string>(found[1]),
              nb::cast<std::vector<std::string>>(found[2]),
              nb::len(found) > 3 ? ranges_of(found[3]) : std::vector<std::vector<table_range>>{}};
    } catch (const nb::python_error& problem) {
      if (far)
        far->rethrow_failure();
      throw_through(problem);
    }
  }

  table_block read_any(const nb::object& file, const std::string& path, std::uint64_t block,
                       const table_options& options, const file_of_python* far = nullptr) const {
    try {
      auto found = std::make_unique<nb::object>(read_(file, block, options.columns, options.types));
      table_block result{.rows = nb::cast<std::uint64_t>((*found)[0]),
                         .bytes = nb::cast<std::uint64_t>((*found)[1])};
      for (const nb::handle x : nb::object((*found)[2]))
        result.columns.push_back(column_of(x));
      result.memory = dropped_with_gil(std::move(found));
      return result;
    } catch (nb::python_error& problem) {
      if (far)
        far->rethrow_failure();
      if (is_of_the_file(problem))
        throw error(errc::io, {.file = path, .got = text_of(problem)});
      throw_for_job(problem);
    }
  }

  nb::handle open_;
  nb::handle read_;
  bool takes_far_;
};

table_options options_of(std::optional<std::vector<std::string>> columns, null_policy nulls,
                         std::uint64_t cache_bytes, std::map<std::string, std::string> types) {
  if (columns && columns->empty())
    refuse_argument("columns", "[]", "names of columns, or None for all");
  return {std::move(columns).value_or(std::vector<std::string>{}), nulls, cache_bytes,
          std::move(types)};
}

} // namespace

void bind_tables(nb::module_& m) {
  nb::class_<file_of_python>(m, "FarTable",
                             "A file that is not on this machine, for functions that read tables. "
                             "Valid until the function that was given it returns.")
      .def_prop_ro(
          "name", [](const file_of_python& x) { return x.from().name(); }, "Its address.")
      .def_prop_ro(
          "size", [](const file_of_python& x) { return x.from().size(); }, "Its bytes.")
      .def_prop_ro(
          "version", [](const file_of_python& x) { return x.from().version(); },
          "Another one for each file, and for each version of a file.")
      .def("read", &file_of_python::read, "ranges"_a,
           nb::sig("def read(self, ranges: collections.abc.Sequence[tuple[int, int]]) -> "
                   "list[bytes]"),
           "Reads ranges (BEGIN, END), all at the same time; those that adjoin are one request. "
           "Raises Error.");
  m.def(
      "parquet",
      [](const patterns& pattern, std::optional<std::vector<std::string>> columns,
         null_policy nulls, std::uint64_t cache_bytes, std::map<std::string, std::string> types,
         const remote_argument& remote) {
        const auto options = options_of(std::move(columns), nulls, cache_bytes, std::move(types));
        const auto how = remote.options();
        return pipeline_value{
            with_patterns([&](const auto& x) { return parquet(x, options, how); }, pattern)};
      },
      "pattern"_a, "columns"_a = nb::none(), nb::kw_only(), "nulls"_a = null_policy::bad,
      "cache_bytes"_a = table_options{}.cache_bytes,
      "types"_a = std::map<std::string, std::string>{}, "remote"_a = nb::none(),
      "The rows of Parquet files, by the package pyarrow: paths or addresses with braces and "
      "globs. Columns are fields: all, or those that are named. `nulls`: a row with a null is a "
      "bad sample, or lacks the field. `cache_bytes`: how much of decoded row groups is kept. "
      "`types`: what fields are, whatever the columns hold: {\"id\": \"i64\", \"price\": "
      "\"f64\", \"tax\": \"bytes\"}. `remote`: how servers are asked.");
  m.def(
      "arrow",
      [](const patterns& pattern, std::optional<std::vector<std::string>> columns,
         null_policy nulls, std::uint64_t cache_bytes, std::map<std::string, std::string> types) {
        const auto options = options_of(std::move(columns), nulls, cache_bytes, std::move(types));
        return pipeline_value{
            with_patterns([&](const auto& x) { return arrow(x, options); }, pattern)};
      },
      "pattern"_a, "columns"_a = nb::none(), nb::kw_only(), "nulls"_a = null_policy::bad,
      "cache_bytes"_a = table_options{}.cache_bytes,
      "types"_a = std::map<std::string, std::string>{},
      "The rows of Arrow IPC files and streams, and of Feather files of version 2: as parquet, "
      "with record batches in place of row groups, of files of this machine.");
  m.def(
      "register_table_reader",
      [](std::string format, nb::object open, nb::object read, bool far) {
        register_table_reader(std::move(format), std::make_shared<const python_table_reader>(
                                                     open.release(), read.release(), far));
      },
      "format"_a, "open"_a, "read"_a, nb::kw_only(), "far"_a = false,
      nb::sig("def register_table_reader(format: str, open: collections.abc.Callable[[typing.Any, "
              "list[str], dict[str, str]], typing.Any], read: "
              "collections.abc.Callable[[typing.Any, int, list[str], dict[str, str]], typing.Any], "
              "*, far: bool = False) -> None"),
      "Replaces what reads files for \"parquet\" or \"arrow\": `open(path, columns, types)` gives "
      "the rows of all blocks, the columns as text, and their names; `read(path, block, columns, "
      "types)` gives rows, bytes and columns of one, as those of leat.tables do. With `far`, both "
      "take a FarTable in place of a path as well; otherwise files of other machines are refused. "
      "Of a FarTable, `open` may give a fourth: for each block the ranges (BEGIN, END) that `read` "
      "will read, which leat then fetches before they are needed.");
}

} // namespace leat::python
