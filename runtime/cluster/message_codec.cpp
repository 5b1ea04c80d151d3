#include "runtime/cluster/message_codec.hpp"

#include "runtime/cluster/wire_fields.hpp"

#include <google/protobuf/io/coded_stream.h>
#include <wire/cluster.pb.h>

namespace leat {

template <class Visit>
void fields(const Visit& visit, either<job_position> auto& x) {
  visit(LEAT_FIELD(epoch), LEAT_FIELD(step));
}

template <class Visit, class Entry>
requires std::same_as<typename Entry::second_type, epoch_horizon>
void fields(const Visit& visit, Entry& x) {
  visit(LEAT_FIELD_AS(x.first, epoch), LEAT_FIELD_AS(x.second.batches, batches),
        LEAT_FIELD_AS(x.second.is_final, is_final));
}

/// The end of an epoch.
template <class Visit, class Entry>
requires std::same_as<typename Entry::second_type, std::uint64_t>
void fields(const Visit& visit, Entry& x) {
  bool is_final = true;
  visit(LEAT_FIELD_AS(x.first, epoch), LEAT_FIELD_AS(x.second, batches),
        LEAT_FIELD_AS(is_final, is_final));
}

/// An option.
template <class Visit, class Entry>
requires std::same_as<typename Entry::second_type, std::string>
void fields(const Visit& visit, Entry& x) {
  visit(LEAT_FIELD_AS(x.first, name), LEAT_FIELD_AS(x.second, value));
}

/// A neighbour.
template <class Visit, class Entry>
requires std::same_as<typename Entry::second_type, process_identity>
void fields(const Visit& visit, Entry& x) {
  visit(LEAT_FIELD_AS(x.first, who), LEAT_FIELD_AS(x.second, process));
}

template <class Visit, either<cluster_seat> Seat>
void fields(const Visit& visit, Seat& x) {
  bool has_limit = x.step_limit != UINT64_MAX;
  visit(LEAT_FIELD(holder), LEAT_FIELD(rank), LEAT_FIELD(world_size), LEAT_FIELD(lease_ns),
        LEAT_FIELD(start), LEAT_FIELD(has_come_back), LEAT_FIELD(start_is_of_term),
        LEAT_FIELD_AS(has_limit, has_step_limit), LEAT_FIELD(step_limit));
  if constexpr (!std::is_const_v<Seat>)
    if (!has_limit)
      x.step_limit = UINT64_MAX;
}

template <class Visit>
void fields(const Visit& visit, either<feed_progress> auto& x) {
  visit(LEAT_FIELD(name), LEAT_FIELD(at), LEAT_FIELD(has_journal), LEAT_FIELD(records_read),
        LEAT_FIELD(reached), LEAT_FIELD(needed_from), LEAT_FIELD(records_received),
        LEAT_FIELD(bytes_received), LEAT_FIELD(waited_ns), LEAT_FIELD(records_per_second),
        LEAT_FIELD(bytes_per_second), LEAT_FIELD(hunger));
}

template <class Visit>
void fields(const Visit& visit, either<rank_status> auto& x) {
  visit(LEAT_FIELD(rank), LEAT_FIELD(host_name), LEAT_FIELD(pid), LEAT_FIELD(at),
        LEAT_FIELD(global_step), LEAT_FIELD(silent_ns), LEAT_FIELD(is_connected),
        LEAT_FIELD(is_done), LEAT_FIELD(has_come_back), LEAT_FIELD(hunger),
        LEAT_FIELD(rows_per_second), LEAT_FIELD(failure), LEAT_FIELD(workers_at),
        LEAT_FIELD(workers), LEAT_FIELD(helper_cores), LEAT_FIELD(feeds_at), LEAT_FIELD(fed));
}

template <class Visit>
void fields(const Visit& visit, either<feed_claim> auto& x) {
  visit(LEAT_FIELD(name), LEAT_FIELD(high), LEAT_FIELD(low), LEAT_FIELD(has_journal),
        LEAT_FIELD(is_decided));
}

template <class Visit>
void fields(const Visit& visit, either<fed_rank> auto& x) {
  visit(LEAT_FIELD(rank), LEAT_FIELD(feeds_at));
}

template <class Visit>
void fields(const Visit& visit, either<waiting_status> auto& x) {
  visit(LEAT_FIELD(host_name), LEAT_FIELD(pid), LEAT_FIELD(rank), LEAT_FIELD(waits_for));
}

template <class Visit>
void fields(const Visit& visit, either<cluster_hello> auto& x) {
  visit(LEAT_FIELD(protocol), LEAT_FIELD(version), LEAT_FIELD(token), LEAT_FIELD(job),
        LEAT_FIELD(who), LEAT_FIELD(process), LEAT_FIELD(host_name), LEAT_FIELD(rank),
        LEAT_FIELD(rules), LEAT_FIELD(pipeline), LEAT_FIELD(options), LEAT_FIELD(lanes),
        LEAT_FIELD(ends_with_last), LEAT_FIELD(beat_ns));
}

template <class Visit>
void fields(const Visit& visit, either<cluster_beat> auto& x) {
  visit(LEAT_FIELD(number), LEAT_FIELD(who), LEAT_FIELD(life), LEAT_FIELD(term), LEAT_FIELD(sets),
        LEAT_FIELD(start), LEAT_FIELD(saves_from), LEAT_FIELD(global_step), LEAT_FIELD(horizons),
        LEAT_FIELD(ends), LEAT_FIELD(saved), LEAT_FIELD(failure), LEAT_FIELD(is_done),
        LEAT_FIELD(is_leaving), LEAT_FIELD(gone), LEAT_FIELD(hunger), LEAT_FIELD(rows_per_second),
        LEAT_FIELD(waits_for_saved), LEAT_FIELD(workers_at), LEAT_FIELD(workers),
        LEAT_FIELD(helper_cores), LEAT_FIELD(feeds_at), LEAT_FIELD(feeds), LEAT_FIELD(fed),
        LEAT_FIELD(serves));
}

template <class Visit>
void fields(const Visit& visit, either<cluster_word> auto& x) {
  visit(LEAT_FIELD(life), LEAT_FIELD(echo), LEAT_FIELD(term), LEAT_FIELD(stop), LEAT_FIELD(reason),
        LEAT_FIELD(waits_for), LEAT_FIELD(seat), LEAT_FIELD(horizons), LEAT_FIELD(failure),
        LEAT_FIELD(refused), LEAT_FIELD(is_over), LEAT_FIELD(target), LEAT_FIELD(given_up),
        LEAT_FIELD(needed), LEAT_FIELD(stored), LEAT_FIELD(store_failures),
        LEAT_FIELD(store_failure), LEAT_FIELD(neighbours), LEAT_FIELD(moved_to), LEAT_FIELD(feeds),
        LEAT_FIELD(fed_ranks), LEAT_FIELD(first_elsewhere), LEAT_FIELD(keep));
}

template <class Visit>
void fields(const Visit& visit, either<cluster_part> auto& x) {
  visit(LEAT_FIELD(term), LEAT_FIELD(at), LEAT_FIELD(rank), LEAT_FIELD(total_bytes),
        LEAT_FIELD(offset), LEAT_FIELD(bytes));
}

template <class Visit>
void fields(const Visit& visit, either<cluster_status> auto& x) {
  visit(LEAT_FIELD(life), LEAT_FIELD(term), LEAT_FIELD(phase), LEAT_FIELD(reason),
        LEAT_FIELD(start), LEAT_FIELD(stored), LEAT_FIELD(target), LEAT_FIELD(store_failures),
        LEAT_FIELD(store_failure), LEAT_FIELD(rules), LEAT_FIELD(sets), LEAT_FIELD(job),
        LEAT_FIELD(ranks), LEAT_FIELD(waiting));
}

namespace {

/// Whether the sizes are those that a message of this kind can have.
template <class Wire>
bool fits(const Wire&) {
  return true;
}

bool fits(const wire::Beat& x) {
  constexpr int most_statements = 64; // a member is in an epoch or two, and keeps three parts
  return x.horizons_size() <= most_statements && x.saved_size() <= most_statements
         && x.feeds_size() <= static_cast<int>(most_feeds_of_job)
         && x.fed_size() <= static_cast<int>(most_feeds_of_job);
}

bool fits(const wire::Status& x) {
  return x.phase() <= 255;
}

/// Whether a message has a bounded number of fields, without those of messages within it. What
/// repeats takes about 20 times as much memory as bytes, before anything can be asked of it.
bool has_few_fields(std::string_view bytes) {
  constexpr int most_fields = 1 << 16;
  using google::protobuf::io::CodedInputStream;
  CodedInputStream in{reinterpret_cast<const std::uint8_t*>(bytes.data()),
                      static_cast<int>(bytes.size())};
  std::uint32_t size = 0;
  std::uint64_t number = 0;
  for (int i = 0; const auto tag = in.ReadTag(); ++i) {
    const bool is_whole = (tag & 7) == 0   ? in.ReadVarint64(&number)
                          : (tag & 7) == 1 ? in.Skip(8)
                          : (tag & 7) == 2 ? in.ReadVarint32(&size) && size <= bytes.size()
                                                 && in.Skip(static_cast<int>(size))
                                           : (tag & 7) == 5 && in.Skip(4);
    if (i == most_fields || !is_whole)
      return false;
  }
  return true;
}

template <class Wire, class Message>
std::optional<Message> parsed(std::string_view bytes) {
  Wire from;
  if (bytes.size() > most_message_bytes || !has_few_fields(bytes)
      || !from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !fits(from))
    return std::nullopt;
  Message x;
  fields(wire_reader<Wire>{from}, x);
  return x;
}

} // namespace

#define LEAT_CODEC(message, wire)                                                                  \
  std::string encode(const message& x) {                                                           \
    return bytes_of<wire>(x);                                                                      \
  }                                                                                                \
  template <>                                                                                      \
  std::optional<message> decode_message(std::string_view bytes) {                                  \
    return parsed<wire, message>(bytes);                                                           \
  }
LEAT_CODEC(cluster_hello, wire::Hello)
LEAT_CODEC(cluster_beat, wire::Beat)
LEAT_CODEC(cluster_word, wire::Word)
LEAT_CODEC(cluster_part, wire::Part)
LEAT_CODEC(cluster_status, wire::Status)
#undef LEAT_CODEC

} // namespace leat
