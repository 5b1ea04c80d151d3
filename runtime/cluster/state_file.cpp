#include "runtime/cluster/state_file.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/framed_bytes.hpp"

#include <cstdint>

namespace leat {

namespace {

constexpr std::string_view state_magic = "leatstat";
constexpr std::uint64_t state_version = 1;
// Magic; version, bytes of the job, bytes of the state, and two halves of the checksum, each as 8
// bytes, little-endian. The checksum covers all that is before it and all after it.
constexpr std::size_t checksum_offset = 32;
constexpr std::size_t state_header = 48;

[[noreturn]] void throw_torn(const std::string& file, const std::string& got) {
  throw_file_error(errc::torn_file, "cluster", file, got,
                   "a whole file: these are written at once, so something else changed it");
}

} // namespace

std::string encode_state(std::string_view job, std::string_view bytes) {
  std::string text{state_magic};
  text.reserve(state_header + job.size() + bytes.size());
  append_little_endian<std::uint64_t>(text, state_version);
  append_little_endian<std::uint64_t>(text, job.size());
  append_little_endian<std::uint64_t>(text, bytes.size());
  std::string body{job};
  body += bytes;
  const auto sum = checksum_of(text, body);
  append_little_endian<std::uint64_t>(text, sum.low);
  append_little_endian<std::uint64_t>(text, sum.high);
  return text + body;
}

job_state decode_state(std::string_view text, const std::string& file) {
  if (text.size() < state_header || !text.starts_with(state_magic))
    throw_torn(file, std::to_string(text.size()) + " bytes that begin as no state does");
  const auto body = text.substr(state_header);
  const hash128 sum{little_endian_at<std::uint64_t>(text, checksum_offset),
                    little_endian_at<std::uint64_t>(text, checksum_offset + 8)};
  if (checksum_of(text.substr(0, checksum_offset), body) != sum)
    throw_torn(file, "another checksum");
  if (const auto version = little_endian_at<std::uint64_t>(text, 8); version != state_version)
    throw_file_error(errc::mismatch, "cluster", file, "version " + std::to_string(version),
                     "version 1: a later leat wrote this file");
  const auto job_bytes = little_endian_at<std::uint64_t>(text, 16);
  if (job_bytes > body.size()
      || little_endian_at<std::uint64_t>(text, 24) != body.size() - job_bytes)
    throw_torn(file, "sizes that do not fit the file");
  return {std::string{body.substr(0, job_bytes)}, std::string{body.substr(job_bytes)}};
}

} // namespace leat
