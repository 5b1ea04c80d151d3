#include "runtime/base/error_in_flight.hpp"

#include <leat/tables.hpp>

#include "python/module/callables.hpp"
#include "python/module/convert/arrays.hpp"
#include "python/module/convert/casters.hpp"
#include "python/module/errors.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"

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

/// Whether the operating system refused to read: then the OSError has a number. pyarrow raises
/// those for damaged content without one.
bool is_of_the_file(const nb::python_error& problem) {
  return PyErr_GivenExceptionMatches(problem.value().ptr(), PyExc_OSError) != 0
         && !nb::object(problem.value().attr("errno")).is_none();
}

/// Reads files with two Python functions, which live as long as the process.
class python_table_reader final : public table_reader {
public:
  python_table_reader(nb::handle open, nb::handle read) : open_(open), read_(read) {}

  table_file open(const std::string& path, const table_options& options) const override {
    const gil_held held;
    try {
      const nb::object found = open_(path, options.columns, options.types);
      return {nb::cast<std::vector<std::uint64_t>>(found[0]), nb::cast<std::string>(found[1]),
              nb::cast<std::vector<std::string>>(found[2])};
    } catch (const nb::python_error& problem) {
      throw_through(problem);
    }
  }

  table_block read(const std::string& path, std::uint64_t block,
                   const table_options& options) const override {
    const gil_held held;
    try {
      auto found = std::make_unique<nb::object>(read_(path, block, options.columns, options.types));
      table_block result{.rows = nb::cast<std::uint64_t>((*found)[0]),
                         .bytes = nb::cast<std::uint64_t>((*found)[1])};
      for (const nb::handle x : nb::object((*found)[2]))
        result.columns.push_back(column_of(x));
      result.memory = dropped_with_gil(std::move(found));
      return result;
    } catch (nb::python_error& problem) {
      if (is_of_the_file(problem))
        throw error(errc::io, {.file = path, .got = text_of(problem)});
      throw_for_job(problem);
    }
  }

private:
  nb::handle open_;
  nb::handle read_;
};

template <class Make>
auto table_pipeline(Make make) {
  return [make](const patterns& pattern, std::optional<std::vector<std::string>> columns,
                null_policy nulls, std::uint64_t cache_bytes,
                std::map<std::string, std::string> types) {
    if (columns && columns->empty())
      refuse_argument("columns", "[]", "names of columns, or None for all");
    const table_options options{std::move(columns).value_or(std::vector<std::string>{}), nulls,
                                cache_bytes, std::move(types)};
    return pipeline_value{with_patterns([&](const auto& x) { return make(x, options); }, pattern)};
  };
}

} // namespace

void bind_tables(nb::module_& m) {
  m.def(
      "parquet", table_pipeline([](const auto& x, const auto& how) { return parquet(x, how); }),
      "pattern"_a, "columns"_a = nb::none(), nb::kw_only(), "nulls"_a = null_policy::bad,
      "cache_bytes"_a = table_options{}.cache_bytes,
      "types"_a = std::map<std::string, std::string>{},
      "The rows of Parquet files, by the package pyarrow: paths with braces and globs. Columns are "
      "fields: all, or those that are named. `nulls`: a row with a null is a bad sample, or lacks "
      "the field. `cache_bytes`: how much of decoded row groups is kept. `types`: what fields are, "
      "whatever the columns hold: {\"id\": \"i64\", \"price\": \"f64\", \"tax\": \"bytes\"}.");
  m.def("arrow", table_pipeline([](const auto& x, const auto& how) { return arrow(x, how); }),
        "pattern"_a, "columns"_a = nb::none(), nb::kw_only(), "nulls"_a = null_policy::bad,
        "cache_bytes"_a = table_options{}.cache_bytes,
        "types"_a = std::map<std::string, std::string>{},
        "The rows of Arrow IPC files and streams, and of Feather files of version 2: as parquet, "
        "with record batches in place of row groups.");
  m.def(
      "register_table_reader",
      [](std::string format, nb::object open, nb::object read) {
        register_table_reader(std::move(format), std::make_shared<const python_table_reader>(
                                                     open.release(), read.release()));
      },
      "format"_a, "open"_a, "read"_a,
      nb::sig(
          "def register_table_reader(format: str, open: collections.abc.Callable[[str, "
          "list[str], dict[str, str]], tuple[list[int], str, list[str]]], read: "
          "collections.abc.Callable[[str, int, list[str], dict[str, str]], typing.Any]) -> None"),
      "Replaces what reads files for \"parquet\" or \"arrow\": `open(path, columns, types)` gives "
      "the rows of all blocks, the columns as text, and their names; `read(path, block, columns, "
      "types)` gives rows, bytes and columns of one, as those of leat.tables do.");
}

} // namespace leat::python
