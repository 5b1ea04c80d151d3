#include "runtime/rows/batch_memory.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/sample/machine_memory.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace leat {

namespace {

/// Approximate memory of a row besides its fields.
constexpr std::size_t bytes_beside_fields = 512;

/// Bytes of a batch; the largest number if they cannot be counted.
std::size_t bytes_of(const batch_layout& layout, std::size_t rows) {
  std::size_t row = bytes_beside_fields;
  std::size_t all = 0;
  bool fits = true;
  for (const auto& x : layout.fields())
    fits = !__builtin_add_overflow(row, x.row_bytes(), &row) && fits;
  return fits && !__builtin_mul_overflow(row, rows, &all) ? all : SIZE_MAX;
}

/// Making so many bytes takes seconds, which somebody may wonder about.
constexpr std::size_t much_memory = std::size_t{4} << 30;

std::string text_of_bytes(std::size_t bytes) {
  return bytes == SIZE_MAX ? "more than 2^64 bytes" : std::to_string(bytes) + " bytes";
}

} // namespace

bool check_batches(const batch_layout& layout, std::size_t rows, std::size_t batches) {
  std::size_t all = 0;
  if (__builtin_mul_overflow(bytes_of(layout, rows), batches, &all))
    all = SIZE_MAX;
  const auto text = std::to_string(batches) + " batches of " + counted(rows, "row") + ", about "
                    + text_of_bytes(all);
  if (all > memory_of_machine())
    throw_error(errc::no_resources, "batch", text + ", which are made side by side",
                "at most " + std::to_string(memory_of_machine())
                    + " bytes, this machine's memory: fewer rows per rank, smaller samples "
                      "or a smaller prefetch");
  if (all > much_memory)
    notice("loader: memory for " + text + ", which takes a while to get");
  return all > much_memory;
}

void refuse_batch_size(const batch_layout& layout, std::size_t rows) {
  const auto bytes = bytes_of(layout, rows);
  throw_error(errc::no_resources, "batch",
              "no memory for a batch of " + std::to_string(rows) + " rows, " + text_of_bytes(bytes),
              "fewer rows per rank, smaller samples, a smaller prefetch or more memory");
}

batch_memory::batch_memory(std::shared_ptr<const batch_layout> layout, std::size_t rows,
                           const tensor_memory& tensors)
    : layout_(std::move(layout)), rows_(rows) {
  if (bytes_of(*layout_, rows_) > memory_of_machine())
    refuse_batch_size(*layout_, rows_);
  try {
    const auto& fields = layout_->fields();
    gathered_.resize(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      row_bytes_.push_back(fields[i].row_bytes());
      const bool is_given = tensors.fields.empty() || tensors.fields[i];
      dense_.emplace_back(row_bytes_[i] * rows_, is_given ? tensors.from : nullptr);
      ragged_.emplace_back(fields[i].ragged ? rows_ : 0);
      if (tensors.device)
        on_device_.emplace_back(tensors.device, tensors.made_there[i] ? row_bytes_[i] * rows_ : 0);
    }
  } catch (const std::bad_alloc&) {
    refuse_batch_size(*layout_, rows_);
  } catch (const error&) { // of the device
    throw;
  } catch (...) { // a resource of the program's own
    throw_error(errc::no_resources, "batch", "options.batch_memory threw: " + exception_text(),
                "memory for a batch of " + std::to_string(rows_) + " rows, or std::bad_alloc");
  }
}

std::size_t batch_memory::bytes() const noexcept {
  std::size_t all = 0;
  for (const auto& x : dense_)
    all += x.size();
  for (const auto& x : ragged_)
    all += x.bytes();
  return all;
}

void batch_memory::begin_rows() noexcept {
  ++opening_;
  for (auto& x : ragged_)
    x.begin();
  mutex_lock lock{gather_mutex_};
  for (auto& x : gathered_)
    x.is_current = false;
}

row_target batch_memory::target(std::size_t row, bool follows, row_memory& to) {
  if (row_bytes_.size() != to.dense.size()) { // asked for per row
    to.dense.resize(row_bytes_.size());
    to.ragged.resize(row_bytes_.size());
    to.on_device.resize(on_device_.size());
  }
  to.may_be_followed = follows;
  for (std::size_t i = 0; i < row_bytes_.size(); ++i) {
    const bool is_ragged = layout_->fields()[i].ragged;
    to.dense[i] = is_ragged ? nullptr : dense_[i].data() + row * row_bytes_[i];
    to.ragged[i] = is_ragged ? ragged_[i].target(row, follows) : ragged_row{};
    to.may_be_followed = to.may_be_followed && (!is_ragged || to.ragged[i].end != nullptr);
  }
  for (std::size_t i = 0; i < on_device_.size(); ++i) {
    auto* all = on_device_[i].data();
    to.on_device[i] = all ? all + row * row_bytes_[i] : nullptr;
  }
  return {layout_.get(), to.dense, to.ragged, to.on_device};
}

void batch_memory::clear(std::size_t row) noexcept {
  const auto& fields = layout_->fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].ragged)
      ragged_[i].clear(row);
    else if (fields[i].row_bytes() > 0)
      std::memset(dense_[i].data() + row * fields[i].row_bytes(), 0, fields[i].row_bytes());
  }
}

field_view batch_memory::field(std::size_t i) {
  const auto& have = layout_->fields()[i];
  field_view x{.type = have.type, .rank = have.dims.rank() + 1};
  if (have.ragged) {
    const auto& all = gather(i);
    x.data = all.values.data();
    x.offsets = all.offsets;
  } else {
    x.data = dense_[i].data();
  }
  std::size_t stride = 1;
  for (auto d = x.rank; d-- > 1;) {
    x.shape[d] = static_cast<std::int64_t>(have.dims[d - 1]);
    x.strides[d] = static_cast<std::int64_t>(stride);
    stride *= have.dims[d - 1];
  }
  x.shape[0] = static_cast<std::int64_t>(have.ragged ? x.offsets.back() : rows_);
  x.strides[0] = static_cast<std::int64_t>(stride);
  return x;
}

const batch_memory::gathered& batch_memory::gather(std::size_t field) {
  mutex_lock lock{gather_mutex_};
  auto& result = gathered_[field];
  if (result.is_current)
    return result;
  auto& rows = ragged_[field];
  result.values = rows.join();
  result.offsets.assign(1, 0);
  const auto width = layout_->fields()[field].unit_bytes();
  std::size_t end = 0;
  for (std::size_t i = 0; i < rows_; ++i)
    result.offsets.push_back((end += rows.size_of(i)) / width);
  result.is_current = true;
  return result;
}

} // namespace leat
