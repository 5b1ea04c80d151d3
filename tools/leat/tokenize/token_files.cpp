#include "tools/leat/tokenize/token_files.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/whole_file.hpp"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

namespace leat::command {

namespace {

namespace fs = std::filesystem;

constexpr auto stage = "leat tokenize";
constexpr std::size_t most_held = std::size_t{1} << 20;
/// Snapshots of jobs whose order is indexed are small; those of buffers are not used here.
constexpr std::size_t most_state = std::size_t{1} << 30;
constexpr auto data_name = "tokens.bin";
constexpr auto index_name = "tokens.idx";
constexpr auto data_part = "tokens.bin.part";
constexpr auto lengths_part = "tokens.lengths.part";
constexpr auto state_name = "tokens.state";

template <class T>
void append_number(std::string& to, T x) {
  to.append(reinterpret_cast<const char*>(&x), sizeof x);
}

file_descriptor opened_part(const fs::path& file, std::uint64_t size) {
  // Opening a pipe would wait for who reads it.
  const auto flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  auto x = opened([&] { return ::open(file.c_str(), flags, 0644); });
  if (!x)
    throw_errno(stage, file, "a file that can be written");
  struct ::stat is = {};
  if (::fstat(x.get(), &is) != 0)
    throw_errno(stage, file, "a file");
  if (!S_ISREG(is.st_mode))
    throw_file_error(errc::invalid_argument, stage, file, "no plain file", "another directory");
  if (static_cast<std::uint64_t>(is.st_size) < size)
    throw_file_error(errc::torn_file, stage, file,
                     std::to_string(is.st_size) + " bytes, fewer than its state says",
                     "the files as they were, or a new directory");
  const auto end = static_cast<off_t>(size);
  if (::ftruncate(x.get(), end) != 0 || ::lseek(x.get(), end, SEEK_SET) != end)
    throw_errno(stage, file, "a file that can be cut");
  return x;
}

void write_all(const file_descriptor& to, const fs::path& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = uninterrupted([&] { return ::write(to.get(), bytes.data(), bytes.size()); });
    if (n < 0)
      throw_errno(stage, file, "room for more");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

void sync(const file_descriptor& x, const fs::path& file) {
  if (uninterrupted([&] { return ::fdatasync(x.get()); }) != 0)
    throw_errno(stage, file, "a file that can be stored");
}

void rename_durably(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw_errno(stage, to, "a file that can be renamed");
  const auto folder =
      opened([&] { return ::open(to.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (!folder || ::fsync(folder.get()) != 0)
    throw_errno(stage, to.parent_path(), "a directory that can be stored");
}

std::string words_of(const token_format& x) {
  return std::string{x.is_megatron ? "megatron" : "raw"} + ", " + std::string{to_string(x.type)}
         + (x.end_token ? ", end token " + std::to_string(*x.end_token) : ", no end token");
}

std::uint64_t greatest_of(dtype type) {
  return type == dtype::u16   ? std::numeric_limits<std::uint16_t>::max()
         : type == dtype::i32 ? std::numeric_limits<std::int32_t>::max()
                              : std::numeric_limits<std::uint32_t>::max();
}

} // namespace

void check_room(const token_format& x, std::uint32_t last_token) {
  const auto check = [&](const std::string& what, std::uint32_t token) {
    if (token > greatest_of(x.type))
      refuse_argument(stage, what + " as " + std::string{to_string(x.type)}, "--dtype i32");
  };
  check("a vocabulary of " + std::to_string(std::uint64_t{last_token} + 1) + " tokens", last_token);
  if (x.end_token)
    check("the end token " + std::to_string(*x.end_token), *x.end_token);
}

token_files::token_files(fs::path directory, token_format format, bool resumes)
    : directory_(std::move(directory)), format_(format) {
  make_directory_durably(directory_);
  if (fs::exists(directory_ / state_name)) {
    if (!resumes)
      throw_file_error(errc::invalid_argument, stage, directory_ / state_name,
                       "a directory with tokens that are not complete",
                       "--resume, or another directory");
    resume();
  } else {
    begin();
  }
}

void token_files::begin() {
  for (const auto* name : {data_name, index_name})
    if (fs::exists(directory_ / name))
      throw_file_error(errc::invalid_argument, stage, directory_ / name,
                       "a directory that has tokens", "another directory, or none");
  data_ = opened_part(directory_ / data_part, 0);
  if (format_.is_megatron)
    lengths_ = opened_part(directory_ / lengths_part, 0);
}

void token_files::resume() {
  const auto file = directory_ / state_name;
  const auto text = read_whole_file(file, most_state, stage);
  const auto end = std::min(text.find('\n'), text.size());
  const auto x = nlohmann::json::parse(text.substr(0, end), nullptr, false);
  try {
    if (const auto was = x.at("format").get<std::string>(); was != words_of(format_))
      throw_file_error(errc::invalid_argument, stage, file, "tokens in another format: " + was,
                       words_of(format_) + ", or another directory");
    sums_ = {x.at("documents").get<std::uint64_t>(), x.at("tokens").get<std::uint64_t>()};
    bytes_ = stored_bytes_ = x.at("bytes").get<std::uint64_t>();
  } catch (const nlohmann::json::exception&) {
    throw_file_error(errc::invalid_argument, stage, file, "a damaged state",
                     "the state that leat tokenize wrote, or another directory");
  }
  resumed_from_ = text.substr(std::min(end + 1, text.size()));
  // A process that died between its last two steps has named the data already.
  if (!fs::exists(directory_ / data_part) && fs::exists(directory_ / data_name))
    rename_durably(directory_ / data_name, directory_ / data_part);
  data_ = opened_part(directory_ / data_part, bytes_);
  if (format_.is_megatron)
    lengths_ = opened_part(directory_ / lengths_part, sums_.documents * sizeof(std::int32_t));
}

void token_files::add(std::uint32_t token) {
  if (format_.type == dtype::u16)
    append_number(held_, static_cast<std::uint16_t>(token));
  else
    append_number(held_, token);
}

void token_files::append(std::span<const std::int32_t> tokens) {
  const auto had = held_.size();
  for (const auto x : tokens)
    add(static_cast<std::uint32_t>(x));
  if (format_.end_token)
    add(*format_.end_token);
  bytes_ += held_.size() - had;
  const auto length = tokens.size() + (format_.end_token ? 1 : 0);
  if (length > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    refuse_argument(stage, "a document of " + std::to_string(length) + " tokens",
                    "fewer than 2^31");
  if (format_.is_megatron)
    append_number(held_lengths_, static_cast<std::int32_t>(length));
  ++sums_.documents;
  sums_.tokens += length;
  if (held_.size() >= most_held)
    flush();
}

void token_files::flush() {
  write_all(data_, directory_ / data_part, std::exchange(held_, {}));
  if (format_.is_megatron)
    write_all(lengths_, directory_ / lengths_part, std::exchange(held_lengths_, {}));
}

void token_files::store(const std::string& from) {
  flush();
  sync(data_, directory_ / data_part);
  if (format_.is_megatron)
    sync(lengths_, directory_ / lengths_part);
  const nlohmann::json x{{"format", words_of(format_)},
                         {"documents", sums_.documents},
                         {"tokens", sums_.tokens},
                         {"bytes", bytes_}};
  write_durably(directory_ / state_name, x.dump() + '\n' + from);
  stored_bytes_ = bytes_;
}

std::string token_files::index() const {
  constexpr std::uint64_t version = 1;
  constexpr std::uint8_t code_of_i32 = 4;
  constexpr std::uint8_t code_of_u16 = 8;
  const auto lengths =
      read_whole_file(directory_ / lengths_part, sums_.documents * sizeof(std::int32_t) + 1, stage);
  std::string x{"MMIDIDX\0\0", 9};
  append_number(x, version);
  append_number(x, format_.type == dtype::u16 ? code_of_u16 : code_of_i32);
  append_number(x, sums_.documents);
  append_number(x, sums_.documents + 1);
  x += lengths;
  std::int64_t offset = 0;
  for (std::uint64_t i = 0; i < sums_.documents; ++i) {
    append_number(x, offset);
    std::int32_t length = 0;
    std::memcpy(&length, lengths.data() + i * sizeof length, sizeof length);
    offset += std::int64_t{length} * static_cast<std::int64_t>(size_of(format_.type));
  }
  for (std::uint64_t i = 0; i <= sums_.documents; ++i)
    append_number(x, static_cast<std::int64_t>(i));
  return x;
}

void token_files::finish() {
  flush();
  sync(data_, directory_ / data_part);
  if (format_.is_megatron)
    write_durably(directory_ / index_name, index());
  rename_durably(directory_ / data_part, directory_ / data_name);
  remove_file(directory_ / state_name);
  remove_file(directory_ / lengths_part);
}

} // namespace leat::command
