#include "runtime/children/call_codec.hpp"

#include "runtime/sample/sample_access.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace leat {

namespace {

static_assert(std::is_trivially_copyable_v<rng>);

std::span<const std::string> alone(const std::string& name) {
  return {&name, 1};
}

/// Writes a field of a sample. Returns its bytes, which stay until the next value is written.
std::span<const std::byte> write_field(value_writer& to, const sample& x, const std::string& name) {
  const auto size = num_field_bytes(x, alone(name));
  to.number(size);
  const auto written = to.room(size);
  leat::write_fields(x, alone(name), written);
  return written;
}

/// Puts the fields into this order: rewrites those from the first that is not in its place on.
void arrange(sample& x, const std::vector<std::string>& names) {
  const auto have = x.fields();
  const auto first = std::mismatch(names.begin(), names.end(), have.begin(), have.end()).first;
  for (auto name = first; name != names.end(); ++name) {
    std::vector<std::byte> field(num_field_bytes(x, alone(*name)));
    leat::write_fields(x, alone(*name), field);
    x.erase(*name);
    set_fields(x, field, read_bytes::copied);
  }
}

/// Sets fields from bytes of the other process.
void set_received(sample& into, std::span<const std::byte> bytes, read_bytes how) {
  try {
    set_fields(into, bytes, how);
  } catch (const bad_sample& problem) {
    throw torn_value(problem.what());
  }
}

void read_changes(value_reader& from, sample& into) {
  constexpr std::size_t least_bytes = 2; // of a name and its flag
  std::vector<std::string> names;
  std::vector<std::span<const std::byte>> changed;
  for (auto left = from.count(least_bytes, SIZE_MAX); left > 0; --left) {
    names.emplace_back(from.text());
    if (from.flag())
      changed.push_back(from.bytes());
  }
  for (const auto& name : into.fields())
    if (std::find(names.begin(), names.end(), name) == names.end())
      into.erase(name);
  for (const auto& field : changed)
    set_received(into, field, read_bytes::copied);
  for (const auto& name : names)
    if (!into.has(name))
      throw torn_value("the name of a field without its bytes");
  if (into.fields().size() != names.size())
    throw torn_value("a field with two names, or one name twice");
  arrange(into, names);
}

/// How a reply begins: 0, or 1 + the kind of failure.
constexpr std::uint64_t last_end = 1 + static_cast<std::uint64_t>(call_failure::kind::interrupted);

} // namespace

void write_call(value_writer& to, const function_call& call) {
  to.text(call.argument);
  to.flag(call.in != nullptr);
  if (call.in) {
    to.as_it_is(call.in->rng());
    to.number(call.in->epoch());
    to.flag(call.in->has_row());
    to.number(call.in->has_row() ? call.in->position() : call.in->lane());
    to.number(call.in->lanes());
  }
  to.text(call.on->id());
  const auto names = call.on->fields();
  to.number(names.size());
  for (const auto& name : names)
    write_field(to, *call.on, name);
}

void received_call::read(value_reader& from) {
  call_.argument = from.text();
  call_.result.clear();
  place_.reset();
  if (from.flag()) {
    rng random{0, 0};
    from.as_it_is(random);
    const auto epoch = from.number();
    const bool has_row = from.flag();
    const auto position = from.number();
    const auto lanes = from.number();
    place_.emplace(random, epoch, position, lanes, nullptr, has_row);
  }
  id_ = from.text();
  sample_access::reset(content_, nullptr);
  sample_access::identify(content_, [this](std::string& to) { to += id_; });
  given_.clear();
  for (auto left = from.count(1, SIZE_MAX); left > 0; --left) {
    given_.push_back(from.bytes());
    set_received(content_, given_.back(), read_bytes::borrowed);
  }
  call_.on = &content_;
  call_.in = place_ ? &*place_ : nullptr;
}

void received_call::write_reply(value_writer& to,
                                const std::optional<call_failure>& problem) const {
  to.number(problem ? 1 + static_cast<std::uint64_t>(problem->what) : 0);
  if (!problem) {
    to.text(call_.result);
    return write_changes(to);
  }
  to.number(static_cast<std::uint64_t>(problem->why));
  to.text(problem->text);
  to.text(problem->raised);
}

void received_call::write_changes(value_writer& to) const {
  const auto names = content_.fields();
  to.number(names.size());
  for (const auto& name : names) {
    to.text(name);
    const auto before = to.size();
    to.flag(true);
    if (!was_given(write_field(to, content_, name)))
      continue;
    to.shrink(before);
    to.flag(false);
  }
}

bool received_call::was_given(std::span<const std::byte> field) const {
  return std::any_of(given_.begin(), given_.end(), [&](const auto& x) {
    return std::equal(x.begin(), x.end(), field.begin(), field.end());
  });
}

std::optional<call_failure> read_reply(value_reader& from, function_call& into) {
  const auto end = from.number(last_end);
  if (end == 0) {
    into.result = from.text();
    read_changes(from, *into.on);
    return std::nullopt;
  }
  call_failure problem;
  problem.what = static_cast<call_failure::kind>(end - 1);
  problem.why = static_cast<cause>(from.number(num_causes - 1));
  problem.text = from.text();
  problem.raised = from.text();
  return problem;
}

} // namespace leat
