#pragma once

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/row_request.hpp"
#include "runtime/sample/stored_sample.hpp"

#include <leat/pipeline.hpp>
#include <leat/source.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

// Rows whose records travel with them, for helpers that do not have the data. The rank makes each
// row up to the point where functions begin, and so finds out which records it reads; the helper
// makes it of these.

/// What orders and rows have to know of a source besides its records.
struct source_shape {
  std::string name = {};
  source_facts facts = {};
  std::vector<std::uint64_t> records_per_file = {};
};

/// The records of the row that one thread makes.
class records_at_hand {
public:
  /// False if the bytes are no records; then there are none.
  bool read(std::string_view bytes);

  /// Null if it is not there: the row then cannot be made here.
  struct record {
    std::string id = {};
    std::shared_ptr<const stored_sample> content = {};
  };
  const record* find(std::uint64_t source, std::uint64_t number) noexcept;
  /// Something that the row needed was not there.
  bool lacked() const noexcept { return has_lacked_; }

private:
  std::map<std::pair<std::uint64_t, std::uint64_t>, record> records_;
  bool has_lacked_ = false;
};

/// The shapes of all sources, in data order. Opens the data.
std::vector<source_shape> source_shapes(const pipeline& x);

/// The same pipeline, whose sources have no records but those at hand. `shapes` are those of its
/// sources.
pipeline with_records_at_hand(const pipeline& x, std::vector<source_shape> shapes,
                              std::shared_ptr<records_at_hand> records);

/// Finds the records that rows read, and reads them. One thread.
class sent_record_reader {
public:
  /// `plan`: of that pipeline, whose records can be sent.
  sent_record_reader(const pipeline& x, const job_plan& plan);

  /// As records_at_hand reads them. Nothing if it cannot be found out which ones they are, or the
  /// data cannot be read: whoever makes the row will say why.
  std::optional<std::string> records_of(const row_request& row);

private:
  struct read_records;

  std::shared_ptr<read_records> read_;
  job_plan plan_;
  std::optional<sample_maker> maker_;
};

} // namespace leat
