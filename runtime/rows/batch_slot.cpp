#include "runtime/rows/batch_slot.hpp"

#include <leat/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace leat {

namespace {

/// Of a batch; the largest number where it cannot be counted.
std::size_t bytes_of(const batch_layout& layout, std::size_t rows) {
  std::size_t row = sizeof(slot_row);
  std::size_t all = 0;
  bool fits = true;
  for (const auto& x : layout.fields())
    fits = !__builtin_add_overflow(row, x.row_bytes(), &row) && fits;
  return fits && !__builtin_mul_overflow(row, rows, &all) ? all : SIZE_MAX;
}

/// What the machine has: to ask for more of it fails late, by the system's choice of a victim.
std::size_t memory_of_machine() noexcept {
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                               : SIZE_MAX - 1;
}

[[noreturn]] void throw_too_large(const batch_layout& layout, std::size_t rows) {
  const auto bytes = bytes_of(layout, rows);
  throw error(
      errc::no_resources,
      {.stage = "batch",
       .got = "no memory for a batch of " + std::to_string(rows) + " rows, "
              + (bytes == SIZE_MAX ? "more than 2^64" : std::to_string(bytes)) + " bytes",
       .needed = "fewer rows of a rank, smaller samples, a smaller prefetch or more memory"});
}

} // namespace

batch_slot::batch_slot(std::shared_ptr<const batch_layout> layout_, std::size_t rows_)
    : layout(std::move(layout_)), capacity(rows_) {
  if (bytes_of(*layout, capacity) > memory_of_machine())
    throw_too_large(*layout, capacity);
  try {
    rows = std::make_unique<slot_row[]>(capacity);
    valid.resize(capacity);
    const auto& fields = layout->fields();
    ragged.resize(fields.size());
    gathered_.resize(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      dense.emplace_back(fields[i].row_bytes() * capacity);
      if (fields[i].ragged)
        ragged[i].resize(capacity);
    }
  } catch (const std::bad_alloc&) {
    throw_too_large(*layout, capacity);
  }
}

batch_plan failed_batch(error problem) noexcept {
  return {.what = batch_plan::kind::failed,
          .epoch = UINT64_MAX,
          .step = UINT64_MAX,
          .failure = std::move(problem)};
}

void batch_slot::open(batch_plan next, std::size_t n) noexcept {
  plan() = std::move(next);
  num_rows = n;
  for (std::size_t i = 0; i < n; ++i) {
    auto& row = rows[i];
    row.digest = {};
    row.pixels = {};
    row.result = slot_row::outcome::good;
    row.bad.reset();
    row.failure.reset();
    row.deaths = 0;
    row.owner.store(0, std::memory_order_relaxed);
    row.state.store(slot_row::phase::dealt, std::memory_order_relaxed);
    if (i < items.size())
      items[i].seen.clear();
  }
  ++generation;
  cursor.store(std::uint64_t{generation} << 32, std::memory_order_release);
  remaining.store(static_cast<std::uint32_t>(n), std::memory_order_release);
}

batch_slot::claimed batch_slot::claim(std::uint32_t seen, std::size_t limit, std::uint32_t worker,
                                      std::size_t at_most) noexcept {
  auto at = cursor.load(std::memory_order_acquire);
  // The generation stands in the same word: a late worker finds it changed and touches nothing.
  while (static_cast<std::uint32_t>(at >> 32) == seen) {
    const std::size_t row = at & 0xffffffffU;
    if (row >= limit)
      break;
    const auto end = std::min(limit, row + at_most);
    if (cursor.compare_exchange_weak(at, at + (end - row), std::memory_order_acq_rel)) {
      for (auto i = row; i < end; ++i)
        rows[i].owner.store(worker + 1, std::memory_order_relaxed);
      return {row, end};
    }
  }
  return {};
}

void batch_slot::close() {
  num_valid = 0;
  digest = {};
  bad.clear();
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto& row = rows[i];
    valid[i] = row.result == slot_row::outcome::good ? 1 : 0;
    if (valid[i]) {
      ++num_valid;
      digest += row.digest;
    }
    if (row.failure && !failure)
      failure = row.failure;
    if (row.bad && !row.failure)
      bad.push_back(*row.bad);
  }
  std::fill(valid.begin() + static_cast<std::ptrdiff_t>(num_rows), valid.end(), 0);
  for (auto& x : gathered_)
    x.reset();
  // Nobody reads the rows of a batch that failed, and to touch them may take memory and time.
  if (failure)
    what = kind::failed;
  else
    clear_invalid_rows();
}

void batch_slot::clear_invalid_rows() noexcept {
  for (std::size_t i = 0; i < capacity; ++i)
    if (!valid[i])
      clear_row(i);
}

row_target batch_slot::target(std::size_t row, std::span<std::byte*> dense_at,
                              std::span<std::vector<std::byte>*> ragged_at) {
  const auto& fields = layout->fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    dense_at[i] = fields[i].ragged ? nullptr : dense[i].data() + row * fields[i].row_bytes();
    ragged_at[i] = fields[i].ragged ? &ragged[i][row] : nullptr;
  }
  return {layout.get(), dense_at, ragged_at};
}

void batch_slot::clear_row(std::size_t row) noexcept {
  const auto& fields = layout->fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].ragged)
      ragged[i][row].clear();
    else if (fields[i].row_bytes() > 0)
      std::memset(dense[i].data() + row * fields[i].row_bytes(), 0, fields[i].row_bytes());
  }
}

const batch_slot::gathered& batch_slot::gather(std::size_t field) {
  std::lock_guard lock{gather_mutex_};
  auto& result = gathered_[field];
  if (!result) {
    result.emplace();
    result->offsets.push_back(0);
    std::size_t bytes = 0;
    for (const auto& row : ragged[field])
      bytes += row.size();
    result->values.reserve(bytes);
    for (const auto& row : ragged[field]) {
      result->values.insert(result->values.end(), row.begin(), row.end());
      result->offsets.push_back(result->values.size());
    }
  }
  return *result;
}

} // namespace leat
