#pragma once

#include "runtime/lending/lender_state.hpp"
#include "runtime/lending/sent_records.hpp"
#include "runtime/rows/job_plan.hpp"
#include "runtime/rows/row_request.hpp"

#include <leat/pipeline.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// Makes an offer's bytes of its rows, whose records it reads. One thread.
class offer_writer {
public:
  /// `data`: the job's, for records that are sent; empty: they cannot be.
  offer_writer(const std::optional<pipeline>& data, const job_plan& plan);

  bool has_records() const noexcept { return records_.has_value(); }

  struct written {
    /// Empty if all rows were left out.
    std::string bytes = {};
    /// The last of the rows that are in it: those before may have been left out.
    std::size_t last = 0;
    lender_state::sending how = {};
    /// Workers may have passed these over just now.
    std::vector<row_place> for_here = {};
  };
  /// As many rows as make up `most_bytes`, and at least one. `goes_on` is asked after each: once it
  /// says no, the others are left out.
  written write(const std::vector<row_place>& rows, bool with_records, std::int64_t most_bytes,
                const std::function<bool()>& goes_on);

  /// When the read began that has not returned; 0: there is none. Any thread.
  std::int64_t reads_since() const noexcept { return since_; }

private:
  struct row_bytes {
    std::string request = {};
    std::string records = {};
  };
  bool copy_request(const row_place& x);
  std::optional<row_bytes> bytes_of_request(bool with_records);

  std::optional<sent_record_reader> records_;
  /// The row's that is written.
  row_request request_;
  std::atomic<std::int64_t> since_ = 0;
};

} // namespace leat
