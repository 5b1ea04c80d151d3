#include "runtime/snapshot.hpp"

#include "runtime/xxh3.hpp"

#include <wire/snapshot.pb.h>

#include <cstring>
#include <span>

namespace leat {

namespace {

constexpr std::string_view magic = "leatsnap";
constexpr std::uint32_t current_version = 1;
// Magic, version and length are hashed together with the message, behind which nothing follows.
constexpr std::size_t checksum_at = 16;
constexpr std::size_t message_at = 32;

[[noreturn]] void refuse(const std::string& name, std::string got, std::string needed) {
  throw error(
      errc::bad_snapshot,
      {.stage = "snapshot", .file = name, .got = std::move(got), .needed = std::move(needed)});
}

hash128 checksum(std::string_view head, std::string_view message) {
  hash_stream hash;
  hash.add_raw(std::as_bytes(std::span{head}));
  hash.add_raw(std::as_bytes(std::span{message}));
  return hash.digest128();
}

template <class T>
void append_number(std::string& to, T x) {
  to.append(reinterpret_cast<const char*>(&x), sizeof(x));
}

template <class T>
T number_at(std::string_view bytes, std::size_t offset) {
  T x;
  std::memcpy(&x, bytes.data() + offset, sizeof(x));
  return x;
}

// -- values to messages

void write(const hash128& x, wire::Hash128& to) {
  to.set_low(x.low);
  to.set_high(x.high);
}

void write_source(const pipeline_facts& x, wire::Source& to) {
  to.set_kind(x.source_kind);
  for (const auto& pattern : x.patterns)
    to.add_patterns(pattern);
  for (const auto& [name, value] : x.source_parameters) {
    auto& parameter = *to.add_parameters();
    parameter.set_name(name);
    parameter.set_value(value);
  }
  to.set_files(x.data.files);
  to.set_records(x.data.records);
  to.set_bytes(x.data.bytes);
  write(x.data.digest, *to.mutable_digest());
}

void write_shuffle(const shuffle_options& x, wire::Shuffle& to) {
  switch (x.kind) {
  case shuffle_kind::none:
    to.set_kind(wire::Shuffle::NONE);
    break;
  case shuffle_kind::full:
    to.set_kind(wire::Shuffle::FULL);
    break;
  case shuffle_kind::windowed:
    to.set_kind(wire::Shuffle::WINDOWED);
    break;
  }
  to.set_seed(x.seed);
  to.set_window(x.window);
}

void write_maps(const pipeline_facts& x, wire::Map& to) {
  for (const auto& [name, parameters] : x.maps) {
    auto& function = *to.add_functions();
    function.set_name(name);
    function.set_parameters(parameters);
  }
}

void write_batch(const pipeline_facts& x, wire::Batch& to) {
  to.set_rows(x.batch_rows);
  to.set_lanes(x.lanes);
  to.set_end(x.end == epoch_end::drop ? wire::Batch::DROP : wire::Batch::MASK);
  for (const auto& field : x.fields)
    to.add_fields(field);
}

void write_pipeline(const pipeline_facts& x, wire::Node& root) {
  write_batch(x, *root.mutable_batch());
  auto* next = root.add_inputs();
  if (!x.maps.empty()) {
    write_maps(x, *next->mutable_map());
    next = next->add_inputs();
  }
  write_shuffle(x.shuffle, *next->mutable_shuffle());
  write_source(x, *next->add_inputs()->mutable_source());
}

void write_sums(const handed_over& x, wire::Sums& to) {
  write(x.digest, *to.mutable_digest());
  write(x.epoch_digest, *to.mutable_epoch_digest());
  to.set_samples(x.samples);
  for (std::size_t i = 0; i < num_causes; ++i) {
    if (x.bad[i] == 0)
      continue;
    auto& bad = *to.add_bad();
    bad.set_cause(std::string{to_string(static_cast<cause>(i))});
    bad.set_count(x.bad[i]);
  }
  to.set_partial(x.partial);
}

std::string message_of(const snapshot& x) {
  wire::Snapshot message;
  write_pipeline(x.pipeline, *message.mutable_pipeline());
  message.set_epoch(x.epoch);
  message.set_step(x.step);
  message.set_global_step(x.global_step);
  message.set_rank(x.rank);
  message.set_world_size(x.world_size);
  write_sums(x.sums, *message.mutable_sums());
  message.set_began(x.began);
  return message.SerializeAsString();
}

// -- messages to values

/// Reads one message into a value; names the snapshot where it refuses.
class reader {
public:
  explicit reader(const std::string& name) : name_(name) {}

  snapshot read(const wire::Snapshot& message) const {
    snapshot x;
    x.pipeline = read_pipeline(message.pipeline());
    x.epoch = message.epoch();
    x.step = message.step();
    x.global_step = message.global_step();
    x.rank = message.rank();
    x.world_size = message.world_size();
    x.sums = read_sums(message.sums());
    x.began = message.began();
    need(x.rank < x.world_size,
         "rank " + std::to_string(x.rank) + " of " + std::to_string(x.world_size),
         "a rank below the world size");
    return x;
  }

private:
  void need(bool condition, const std::string& got, const std::string& needed) const {
    if (!condition)
      refuse(name_, got, needed);
  }

  const wire::Node& input(const wire::Node& node) const {
    need(node.inputs_size() == 1,
         "an operator with " + std::to_string(node.inputs_size()) + " inputs", "1");
    return node.inputs(0);
  }

  pipeline_facts read_pipeline(const wire::Node& root) const {
    pipeline_facts x;
    need(root.has_batch(), "a pipeline whose last operator is unknown", "a batch");
    read_batch(root.batch(), x);
    const auto* next = &input(root);
    if (next->has_map()) {
      for (const auto& function : next->map().functions())
        x.maps.emplace_back(function.name(), function.parameters());
      next = &input(*next);
    }
    need(next->has_shuffle(), "a pipeline with an unknown operator", "a shuffle");
    read_shuffle(next->shuffle(), x.shuffle);
    next = &input(*next);
    need(next->has_source() && next->inputs_size() == 0,
         "a pipeline with an unknown first operator", "a source");
    read_source(next->source(), x);
    return x;
  }

  void read_batch(const wire::Batch& message, pipeline_facts& x) const {
    x.batch_rows = message.rows();
    x.lanes = message.lanes();
    need(message.end() == wire::Batch::DROP || message.end() == wire::Batch::MASK,
         "end rule number " + std::to_string(message.end()), "drop or mask");
    x.end = message.end() == wire::Batch::DROP ? epoch_end::drop : epoch_end::mask;
    x.fields.assign(message.fields().begin(), message.fields().end());
  }

  void read_shuffle(const wire::Shuffle& message, shuffle_options& x) const {
    switch (message.kind()) {
    case wire::Shuffle::NONE:
      x.kind = shuffle_kind::none;
      break;
    case wire::Shuffle::FULL:
      x.kind = shuffle_kind::full;
      break;
    case wire::Shuffle::WINDOWED:
      x.kind = shuffle_kind::windowed;
      break;
    default:
      refuse(name_, "shuffle number " + std::to_string(message.kind()), "none, full or windowed");
    }
    x.seed = message.seed();
    x.window = message.window();
  }

  void read_source(const wire::Source& message, pipeline_facts& x) const {
    x.source_kind = message.kind();
    x.patterns.assign(message.patterns().begin(), message.patterns().end());
    for (const auto& parameter : message.parameters())
      x.source_parameters[parameter.name()] = parameter.value();
    x.data.files = message.files();
    x.data.records = message.records();
    x.data.bytes = message.bytes();
    x.data.digest = read_hash(message.digest());
  }

  handed_over read_sums(const wire::Sums& message) const {
    handed_over x;
    x.digest = read_hash(message.digest());
    x.epoch_digest = read_hash(message.epoch_digest());
    x.samples = message.samples();
    for (const auto& bad : message.bad()) {
      const auto why = parse_cause(bad.cause());
      need(why.has_value(), "cause \"" + bad.cause() + '"', "a cause that this version knows");
      x.bad[static_cast<std::size_t>(*why)] += bad.count();
    }
    x.partial = message.partial();
    return x;
  }

  static hash128 read_hash(const wire::Hash128& message) {
    return {.low = message.low(), .high = message.high()};
  }

  const std::string& name_;
};

/// The message behind a frame that is whole.
std::string_view unframe(std::string_view bytes, const std::string& name) {
  if (bytes.size() < message_at)
    refuse(name, std::to_string(bytes.size()) + " bytes", "at least " + std::to_string(message_at));
  if (!bytes.starts_with(magic))
    refuse(name, "other first bytes", "the first bytes \"" + std::string{magic} + '"');
  const auto version = number_at<std::uint32_t>(bytes, 8);
  if (version == 0 || version > current_version)
    refuse(name, "version " + std::to_string(version),
           "version 1 to " + std::to_string(current_version));
  const auto message = bytes.substr(message_at);
  const auto length = number_at<std::uint32_t>(bytes, 12);
  if (length != message.size() || bytes.size() > max_snapshot_bytes)
    refuse(name, std::to_string(message.size()) + " bytes behind the head",
           std::to_string(length) + " as the head says, and at most "
               + std::to_string(max_snapshot_bytes - message_at));
  const hash128 written{.low = number_at<std::uint64_t>(bytes, checksum_at),
                        .high = number_at<std::uint64_t>(bytes, checksum_at + 8)};
  const auto found = checksum(bytes.substr(0, checksum_at), message);
  if (found != written)
    refuse(name, "checksum " + to_string(found), to_string(written) + " as the head says");
  return message;
}

} // namespace

handed_over& handed_over::operator+=(const handed_over& x) noexcept {
  digest += x.digest;
  epoch_digest += x.epoch_digest;
  samples += x.samples;
  for (std::size_t i = 0; i < num_causes; ++i)
    bad[i] += x.bad[i];
  partial = partial || x.partial;
  return *this;
}

std::string encode(const snapshot& x) {
  const auto message = message_of(x);
  if (message.size() > max_snapshot_bytes - message_at)
    throw error(errc::invalid_argument,
                {.stage = "snapshot",
                 .got = "a pipeline of " + std::to_string(message.size()) + " bytes",
                 .needed = "at most " + std::to_string(max_snapshot_bytes - message_at)});
  std::string bytes{magic};
  append_number(bytes, current_version);
  append_number(bytes, static_cast<std::uint32_t>(message.size()));
  const auto hash = checksum(bytes, message);
  append_number(bytes, hash.low);
  append_number(bytes, hash.high);
  return bytes + message;
}

snapshot decode(std::string_view bytes, const std::string& name) {
  const auto content = unframe(bytes, name);
  wire::Snapshot message;
  if (!message.ParseFromArray(content.data(), static_cast<int>(content.size())))
    refuse(name, "a message that does not parse", "a snapshot message");
  return reader{name}.read(message);
}

} // namespace leat
