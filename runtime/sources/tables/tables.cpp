#include "runtime/base/error_in_flight.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/sources/lines/json_types.hpp"
#include "runtime/sources/tables/table_source.hpp"

#include <leat/tables.hpp>

#include <map>
#include <utility>

namespace leat {

namespace {

constexpr option_words<null_policy, 2> null_policies{
    {{"bad", null_policy::bad}, {"no_field", null_policy::no_field}}};

class reader_list {
public:
  void set(std::string format, std::shared_ptr<const table_reader> reader) {
    mutex_lock lock{mutex_};
    readers_.insert_or_assign(std::move(format), std::move(reader));
  }
  std::shared_ptr<const table_reader> get(const std::string& format) const {
    mutex_lock lock{mutex_};
    if (const auto found = readers_.find(format); found != readers_.end())
      return found->second;
    refuse_argument(format, "a program that has no reader of such files",
                    "a program in Python (leat." + format
                        + ", over pyarrow), or one that calls register_table_reader");
  }

private:
  mutable mutex mutex_;
  std::map<std::string, std::shared_ptr<const table_reader>> readers_ LEAT_GUARDED_BY(mutex_);
};

reader_list& readers() {
  static reader_list list;
  return list;
}

pipeline rows_of(const std::string& format, std::vector<std::string> patterns,
                 table_options options, const remote_options& remote = {}) {
  for (const auto& column : options.columns)
    if (column.empty() || std::count(options.columns.begin(), options.columns.end(), column) > 1)
      refuse_argument(format, "columns with " + in_quotes(column),
                      "names that are not empty, each once");
  const json_types types{options.types, format + ".types"}; // their words are the same
  std::vector<node_option> written{{"patterns", patterns},
                                   {"columns", options.columns},
                                   {"nulls", word_of(options.nulls, null_policies)},
                                   {"cache_bytes", options.cache_bytes}};
  if (!options.types.empty())
    written.push_back({"types", types.texts()});
  return source_pipeline(
      format, std::move(written),
      [=, options = std::move(options)](const store_set& in) {
        return std::make_shared<const table_source>(
            format, find_files(patterns, format, file_kinds::plain, in), options,
            readers().get(format));
      },
      remote);
}

operator_type table_operator(std::string_view format,
                             pipeline (*make)(const operator_node&, const std::vector<pipeline>&)) {
  return {.word = format,
          .role = operator_role::source,
          .options = {in_facts(plain("patterns", option_type::listed_texts)),
                      {"columns", option_type::texts, std::vector<std::string>{}},
                      one_of("nulls", null_policies, null_policy::bad),
                      in_facts({"cache_bytes", option_type::number, table_options{}.cache_bytes}),
                      later({"types", option_type::texts, std::vector<std::string>{}})},
          .make = make};
}

pipeline of_call(const operator_node& call, const std::vector<pipeline>&) {
  return rows_of(
      call.op, call.get<std::vector<std::string>>("patterns"),
      {.columns = call.get<std::vector<std::string>>("columns"),
       .nulls = value_of(call, "nulls", null_policies),
       .cache_bytes = call.get<std::uint64_t>("cache_bytes"),
       .types = json_types_in(call.get<std::vector<std::string>>("types"), call.op + ".types")});
}

} // namespace

far_table::~far_table() = default;

table_reader::~table_reader() = default;

table_file table_reader::open_far(const far_table& file, const table_options&) const {
  throw_file_error(errc::invalid_argument, "tables", file.name(),
                   "a file that is not on this machine",
                   "one that is: the reader of this format opens files by their paths");
}

table_block table_reader::read_far(const far_table& file, std::uint64_t,
                                   const table_options& options) const {
  open_far(file, options);
  return {};
}

void register_table_reader(std::string format, std::shared_ptr<const table_reader> reader) {
  if ((format != "parquet" && format != "arrow") || !reader)
    refuse_argument("register_table_reader", reader ? in_quotes(format) : "no reader",
                    "\"parquet\" or \"arrow\", and a reader");
  readers().set(std::move(format), std::move(reader));
}

pipeline parquet(std::string pattern, table_options options, const remote_options& remote) {
  return parquet(std::vector{std::move(pattern)}, std::move(options), remote);
}

pipeline parquet(std::vector<std::string> patterns, table_options options,
                 const remote_options& remote) {
  return rows_of("parquet", std::move(patterns), std::move(options), remote);
}

pipeline arrow(std::string pattern, table_options options) {
  return arrow(std::vector{std::move(pattern)}, std::move(options));
}

pipeline arrow(std::vector<std::string> patterns, table_options options) {
  return rows_of("arrow", std::move(patterns), std::move(options));
}

operator_type parquet_operator() {
  return table_operator("parquet", of_call);
}

operator_type arrow_operator() {
  return table_operator("arrow", of_call);
}

} // namespace leat
