#pragma once

#include "runtime/base/worker_record.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "runtime/rows/row_plan.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// A worker's own copy of a pipeline's function: reads, runs the maps, writes a row.
/// Pure and one to one; nothing that a source or a user function throws gets out of it.
class row_function {
public:
  /// `record` is told what is going on.
  row_function(std::shared_ptr<const row_plan> plan, std::shared_ptr<worker_record> record);

  /// Makes one row of an open slot, with its digest; a bad sample is treated as the policy says.
  /// The caller owns the row, and marks it finished afterwards.
  void run(batch_slot& slot, std::size_t row);

  worker_record& record() noexcept { return *record_; }

private:
  error with_sample(const error& problem, const batch_slot& slot, std::size_t row);
  void run_or_treat(batch_slot& slot, std::size_t row);
  /// Looks at the row's item for a program.
  void look(batch_slot& slot, std::size_t row);
  void look_at(const batch_slot& slot, std::size_t row, sighting& seen);
  /// Makes the row's own sample, or that of a substitute. Throws `bad_sample`, or `leat::error` of
  /// the store.
  void produce(batch_slot& slot, std::size_t row, const epoch_item& what);
  epoch_item own_item(const batch_slot& slot, std::size_t row) const;
  item_place place_of(const batch_slot& slot, std::size_t row) const;
  /// Tries other samples of the row's lane. False when none of them is good.
  bool substitute(batch_slot& slot, std::size_t row);
  void treat_bad(batch_slot& slot, std::size_t row, const bad_sample& problem);
  void seal(batch_slot& slot, std::size_t row);
  hash128 hash_of_pixels(const slot_row& row) const;
  const std::string& stage_name() const;

  std::shared_ptr<const row_plan> plan_;
  std::shared_ptr<worker_record> record_;
  /// Made in the thread that runs them, at the first row.
  std::optional<row_maker> maker_;
  sample sample_;
  std::string id_;
  std::vector<std::byte*> dense_;
  std::vector<std::vector<std::byte>*> ragged_;
};

} // namespace leat
