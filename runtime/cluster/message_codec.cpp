#include "runtime/cluster/message_codec.hpp"

#include "runtime/cluster/process/process_codec.hpp"

#include <wire/cluster.pb.h>

#include <utility>

namespace leat {

namespace {

/// A member is in an epoch or two, and keeps three parts.
constexpr int most_statements = 64;

// Each struct has a pair of functions: `write` fills the message, `read` the struct.
using leat::read;
using leat::write;

void write(const job_position& x, wire::Position& to) {
  to.set_epoch(x.epoch);
  to.set_step(x.step);
}

job_position read(const wire::Position& x) {
  return {x.epoch(), x.step()};
}

template <class Horizons>
void write(const std::map<std::uint64_t, epoch_horizon>& x, Horizons& to) {
  for (const auto& [epoch, horizon] : x) {
    auto& one = *to.Add();
    one.set_epoch(epoch);
    one.set_batches(horizon.batches);
    one.set_is_final(horizon.is_final);
  }
}

template <class Horizons>
std::map<std::uint64_t, epoch_horizon> read_horizons(const Horizons& x) {
  std::map<std::uint64_t, epoch_horizon> all;
  for (const auto& one : x)
    all[one.epoch()] = {one.batches(), one.is_final()};
  return all;
}

void write(const cluster_seat& x, wire::Seat& to) {
  write(x.holder, *to.mutable_holder());
  to.set_rank(x.rank);
  to.set_world_size(x.world_size);
  to.set_lease_ns(x.lease_ns);
  if (x.start)
    write(*x.start, *to.mutable_start());
  to.set_has_come_back(x.has_come_back);
  to.set_start_is_of_term(x.start_is_of_term);
  to.set_has_step_limit(x.step_limit != UINT64_MAX);
  to.set_step_limit(x.step_limit);
}

cluster_seat read(const wire::Seat& x) {
  cluster_seat seat{.holder = read(x.holder()),
                    .rank = x.rank(),
                    .world_size = x.world_size(),
                    .lease_ns = x.lease_ns(),
                    .has_come_back = x.has_come_back(),
                    .start_is_of_term = x.start_is_of_term(),
                    .step_limit = x.has_step_limit() ? x.step_limit() : UINT64_MAX};
  if (x.has_start())
    seat.start = read(x.start());
  return seat;
}

void write(const rank_status& x, wire::RankStatus& to) {
  to.set_rank(x.rank);
  to.set_host_name(x.host_name);
  to.set_pid(x.pid);
  write(x.at, *to.mutable_at());
  to.set_has_global_step(x.global_step.has_value());
  to.set_global_step(x.global_step.value_or(0));
  to.set_silent_ns(x.silent_ns);
  to.set_is_connected(x.is_connected);
  to.set_is_done(x.is_done);
  to.set_has_come_back(x.has_come_back);
  to.set_hunger(x.hunger);
  to.set_rows_per_second(x.rows_per_second);
  to.set_failure(x.failure);
}

rank_status read(const wire::RankStatus& x) {
  rank_status to{.rank = x.rank(),
                 .host_name = x.host_name(),
                 .pid = x.pid(),
                 .at = read(x.at()),
                 .silent_ns = x.silent_ns(),
                 .is_connected = x.is_connected(),
                 .is_done = x.is_done(),
                 .has_come_back = x.has_come_back(),
                 .hunger = x.hunger(),
                 .rows_per_second = x.rows_per_second(),
                 .failure = x.failure()};
  if (x.has_global_step())
    to.global_step = x.global_step();
  return to;
}

void write(const waiting_status& x, wire::WaitingStatus& to) {
  to.set_host_name(x.host_name);
  to.set_pid(x.pid);
  to.set_has_rank(x.rank.has_value());
  to.set_rank(x.rank.value_or(0));
  to.set_waits_for(x.waits_for);
}

waiting_status read(const wire::WaitingStatus& x) {
  waiting_status to{.host_name = x.host_name(), .pid = x.pid(), .waits_for = x.waits_for()};
  if (x.has_rank())
    to.rank = x.rank();
  return to;
}

template <class Wire>
bool parse(std::string_view bytes, Wire& to) {
  return bytes.size() <= most_message_bytes
         && to.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

} // namespace

std::string encode(const cluster_hello& x) {
  wire::Hello to;
  to.set_protocol(x.protocol);
  to.set_version(x.version);
  to.set_token(x.token);
  to.set_job(x.job);
  write(x.who, *to.mutable_who());
  write(x.process, *to.mutable_process());
  to.set_host_name(x.host_name);
  to.set_has_rank(x.rank.has_value());
  to.set_rank(x.rank.value_or(0));
  write(x.rules, *to.mutable_rules());
  to.set_pipeline(x.pipeline);
  for (const auto& [name, value] : x.options) {
    auto& one = *to.add_options();
    one.set_name(name);
    one.set_value(value);
  }
  to.set_lanes(x.lanes);
  to.set_ends_with_last(x.ends_with_last);
  to.set_beat_ns(x.beat_ns);
  return to.SerializeAsString();
}

template <>
std::optional<cluster_hello> decode_message(std::string_view bytes) {
  wire::Hello x;
  if (!parse(bytes, x))
    return std::nullopt;
  cluster_hello to{.protocol = x.protocol(),
                   .version = x.version(),
                   .token = x.token(),
                   .job = x.job(),
                   .who = read(x.who()),
                   .process = read(x.process()),
                   .host_name = x.host_name(),
                   .rules = read(x.rules()),
                   .beat_ns = x.beat_ns(),
                   .pipeline = x.pipeline(),
                   .lanes = x.lanes(),
                   .ends_with_last = x.ends_with_last()};
  if (x.has_rank())
    to.rank = x.rank();
  for (const auto& one : x.options())
    to.options.emplace_back(one.name(), one.value());
  return to;
}

std::string encode(const cluster_beat& x) {
  wire::Beat to;
  to.set_number(x.number);
  write(x.who, *to.mutable_who());
  to.set_life(x.life);
  to.set_term(x.term);
  to.set_sets(x.sets);
  if (x.start)
    write(*x.start, *to.mutable_start());
  write(x.behind, *to.mutable_behind());
  to.set_has_global_step(x.global_step.has_value());
  to.set_global_step(x.global_step.value_or(0));
  write(x.horizons, *to.mutable_horizons());
  for (const auto& [epoch, batches] : x.ends) {
    auto& one = *to.add_ends();
    one.set_epoch(epoch);
    one.set_batches(batches);
    one.set_is_final(true);
  }
  for (const auto& place : x.saved)
    write(place, *to.add_saved());
  to.set_waits_for_saved(x.waits_for_saved);
  to.set_failure(x.failure);
  to.set_is_done(x.is_done);
  to.set_is_leaving(x.is_leaving);
  for (const auto& who : x.gone)
    write(who, *to.add_gone());
  to.set_hunger(x.hunger);
  to.set_rows_per_second(x.rows_per_second);
  return to.SerializeAsString();
}

template <>
std::optional<cluster_beat> decode_message(std::string_view bytes) {
  wire::Beat x;
  if (!parse(bytes, x) || x.horizons_size() > most_statements || x.saved_size() > most_statements)
    return std::nullopt;
  cluster_beat to{.number = x.number(),
                  .who = read(x.who()),
                  .life = x.life(),
                  .term = x.term(),
                  .sets = x.sets(),
                  .behind = read(x.behind()),
                  .horizons = read_horizons(x.horizons()),
                  .waits_for_saved = x.waits_for_saved(),
                  .failure = x.failure(),
                  .is_done = x.is_done(),
                  .is_leaving = x.is_leaving(),
                  .hunger = x.hunger(),
                  .rows_per_second = x.rows_per_second()};
  if (x.has_start())
    to.start = read(x.start());
  if (x.has_global_step())
    to.global_step = x.global_step();
  for (const auto& one : x.ends())
    to.ends[one.epoch()] = one.batches();
  for (const auto& place : x.saved())
    to.saved.push_back(read(place));
  for (const auto& who : x.gone())
    to.gone.push_back(read(who));
  return to;
}

std::string encode(const cluster_word& x) {
  wire::Word to;
  to.set_life(x.life);
  to.set_echo(x.echo);
  to.set_term(x.term);
  to.set_stop(x.stop);
  to.set_reason(x.reason);
  to.set_waits_for(x.waits_for);
  if (x.seat)
    write(*x.seat, *to.mutable_seat());
  write(x.horizons, *to.mutable_horizons());
  to.set_failure(x.failure);
  to.set_refused(x.refused);
  to.set_is_over(x.is_over);
  if (x.target)
    write(*x.target, *to.mutable_target());
  if (x.given_up)
    write(*x.given_up, *to.mutable_given_up());
  to.set_has_needed(x.needed.has_value());
  to.set_needed(x.needed.value_or(0));
  if (x.stored)
    write(*x.stored, *to.mutable_stored());
  to.set_store_failures(x.store_failures);
  to.set_store_failure(x.store_failure);
  to.set_moved_to(x.moved_to);
  for (const auto& [who, process] : x.neighbours) {
    auto& one = *to.add_neighbours();
    write(who, *one.mutable_who());
    write(process, *one.mutable_process());
  }
  return to.SerializeAsString();
}

template <>
std::optional<cluster_word> decode_message(std::string_view bytes) {
  wire::Word x;
  if (!parse(bytes, x))
    return std::nullopt;
  cluster_word to{.life = x.life(),
                  .echo = x.echo(),
                  .term = x.term(),
                  .stop = x.stop(),
                  .reason = x.reason(),
                  .waits_for = x.waits_for(),
                  .horizons = read_horizons(x.horizons()),
                  .failure = x.failure(),
                  .refused = x.refused(),
                  .is_over = x.is_over(),
                  .store_failures = x.store_failures(),
                  .store_failure = x.store_failure(),
                  .moved_to = x.moved_to()};
  if (x.has_seat())
    to.seat = read(x.seat());
  if (x.has_target())
    to.target = read(x.target());
  if (x.has_given_up())
    to.given_up = read(x.given_up());
  if (x.has_needed())
    to.needed = x.needed();
  if (x.has_stored())
    to.stored = read(x.stored());
  for (const auto& one : x.neighbours())
    to.neighbours.emplace_back(read(one.who()), read(one.process()));
  return to;
}

std::string encode(const cluster_part& x) {
  wire::Part to;
  to.set_term(x.term);
  write(x.at, *to.mutable_at());
  to.set_rank(x.rank);
  to.set_total_bytes(x.total_bytes);
  to.set_offset(x.offset);
  to.set_bytes(x.bytes);
  return to.SerializeAsString();
}

template <>
std::optional<cluster_part> decode_message(std::string_view bytes) {
  wire::Part x;
  if (!parse(bytes, x))
    return std::nullopt;
  return cluster_part{.term = x.term(),
                      .at = read(x.at()),
                      .rank = x.rank(),
                      .total_bytes = x.total_bytes(),
                      .offset = x.offset(),
                      .bytes = std::move(*x.mutable_bytes())};
}

std::string encode(const cluster_status& x) {
  wire::Status to;
  to.set_life(x.life);
  to.set_term(x.term);
  to.set_phase(x.phase);
  to.set_reason(x.reason);
  if (x.start)
    write(*x.start, *to.mutable_start());
  if (x.stored)
    write(*x.stored, *to.mutable_stored());
  if (x.target)
    write(*x.target, *to.mutable_target());
  to.set_store_failures(x.store_failures);
  to.set_store_failure(x.store_failure);
  write(x.rules, *to.mutable_rules());
  to.set_sets(x.sets);
  to.set_job(x.job);
  for (const auto& rank : x.ranks)
    write(rank, *to.add_ranks());
  for (const auto& process : x.waiting)
    write(process, *to.add_waiting());
  return to.SerializeAsString();
}

template <>
std::optional<cluster_status> decode_message(std::string_view bytes) {
  wire::Status x;
  if (!parse(bytes, x) || x.phase() > 255)
    return std::nullopt;
  cluster_status to{.life = x.life(),
                    .term = x.term(),
                    .phase = static_cast<std::uint8_t>(x.phase()),
                    .reason = x.reason(),
                    .store_failures = x.store_failures(),
                    .store_failure = x.store_failure(),
                    .rules = read(x.rules()),
                    .sets = x.sets(),
                    .job = x.job()};
  if (x.has_start())
    to.start = read(x.start());
  if (x.has_stored())
    to.stored = read(x.stored());
  if (x.has_target())
    to.target = read(x.target());
  for (const auto& rank : x.ranks())
    to.ranks.push_back(read(rank));
  for (const auto& process : x.waiting())
    to.waiting.push_back(read(process));
  return to;
}

} // namespace leat
