#include "python/module/processes/process_calls.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <algorithm>

namespace leat::python {

namespace {

static_assert(std::is_trivially_copyable_v<rng>);

std::span<const std::string> alone(const std::string& name) {
  return {&name, 1};
}

/// Puts the fields into this order: rewrites those from the first that is not in its place on.
void arrange(sample& x, const std::vector<std::string>& names) {
  const auto have = x.fields();
  const auto first = std::mismatch(names.begin(), names.end(), have.begin(), have.end()).first;
  for (auto name = first; name != names.end(); ++name) {
    std::vector<std::byte> field(num_field_bytes(x, alone(*name)));
    write_fields(x, alone(*name), field);
    x.erase(*name);
    set_fields(x, field, read_bytes::copied);
  }
}

} // namespace

std::uint64_t number_in(std::string_view bytes) noexcept {
  std::uint64_t x = 0;
  if (bytes.size() == sizeof x)
    std::memcpy(&x, bytes.data(), sizeof x);
  return x;
}

std::string bytes_of_number(std::uint64_t x) {
  return {reinterpret_cast<const char*>(&x), sizeof x};
}

void call_writer::text(std::string_view x) {
  value(std::uint64_t{x.size()});
  std::copy(x.begin(), x.end(), reinterpret_cast<char*>(room(x.size()).data()));
}

std::span<const std::byte> call_writer::field(const sample& x, const std::string& name) {
  const auto size = num_field_bytes(x, alone(name));
  value(std::uint64_t{size});
  const auto written = room(size);
  write_fields(x, alone(name), written);
  return written;
}

std::span<std::byte> call_writer::room(std::size_t size) {
  to_->reserve(size_ + size);
  const auto found = to_->bytes().subspan(size_, size);
  size_ += size;
  return found;
}

std::string_view call_reader::text() {
  const auto x = bytes();
  return {reinterpret_cast<const char*>(x.data()), x.size()};
}

std::span<const std::byte> call_reader::take(std::size_t size) {
  if (size > rest_.size())
    throw_error(errc::worker_lost, "processes", "torn bytes from the process of a function",
                "a function that leaves other memory alone");
  const auto taken = rest_.first(size);
  rest_ = rest_.subspan(size);
  return taken;
}

void write_call(call_writer& to, const process_call& call) {
  to.text(call.argument);
  to.value(std::uint64_t{call.in ? 1U : 0U});
  if (call.in) {
    to.value(call.in->rng());
    to.value(call.in->epoch());
    to.value(std::uint64_t{call.in->has_row() ? 1U : 0U});
    to.value(call.in->has_row() ? call.in->position() : call.in->lane());
    to.value(call.in->lanes());
  }
  to.text(call.on->id());
  const auto names = call.on->fields();
  to.value(std::uint64_t{names.size()});
  for (const auto& name : names)
    to.field(*call.on, name);
}

void received_call::read(call_reader& from) {
  call_.argument = from.text();
  call_.result.clear();
  place_.reset();
  if (from.number() != 0) {
    rng random{0, 0};
    from.value(random);
    const auto epoch = from.number();
    const bool has_row = from.number() != 0;
    const auto position = from.number();
    const auto lanes = from.number();
    place_.emplace(random, epoch, position, lanes, nullptr, has_row);
  }
  id_ = from.text();
  for (const auto& name : content_.fields())
    content_.erase(name);
  given_.clear();
  for (auto left = from.number(); left > 0; --left) {
    given_.push_back(from.bytes());
    set_fields(content_, given_.back());
  }
  call_.on = &content_;
  call_.in = place_ ? &*place_ : nullptr;
}

void received_call::write_fields(call_writer& to) const {
  const auto names = content_.fields();
  to.value(std::uint64_t{names.size()});
  for (const auto& name : names) {
    to.text(name);
    const auto before = to.size();
    to.value(std::uint64_t{1});
    if (!was_given(to.field(content_, name)))
      continue;
    to.shrink(before);
    to.value(std::uint64_t{0});
  }
}

bool received_call::was_given(std::span<const std::byte> field) const {
  return std::any_of(given_.begin(), given_.end(), [&](const auto& x) {
    return std::equal(x.begin(), x.end(), field.begin(), field.end());
  });
}

void read_fields(call_reader& from, sample& into) {
  std::vector<std::string> names;
  std::vector<std::span<const std::byte>> changed;
  for (auto left = from.number(); left > 0; --left) {
    names.emplace_back(from.text());
    if (from.number() != 0)
      changed.push_back(from.bytes());
  }
  for (const auto& name : into.fields())
    if (std::find(names.begin(), names.end(), name) == names.end())
      into.erase(name);
  for (const auto& field : changed)
    set_fields(into, field, read_bytes::copied);
  arrange(into, names);
}

} // namespace leat::python
