#include "runtime/sources/feed/file_lines.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t bytes_per_take = std::size_t{1} << 18;

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t x = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (failure != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return x;
}

class files_of_lines final : public feed_input {
public:
  explicit files_of_lines(std::vector<std::string> files) : files_(std::move(files)) {}

  const std::string& name() const override { return files_.front(); }
  feed_format format() const override { return feed_format::lines; }
  /// Files forget nothing.
  bool takes_acknowledgements() const override { return false; }
  std::unique_ptr<feed_reader> begin(const std::string& last) override;

private:
  const std::vector<std::string> files_;
};

class line_taker final : public feed_reader {
public:
  line_taker(const std::vector<std::string>& files, const std::string& last) : files_(files) {
    if (!last.empty())
      move_to(last);
  }

  bool take(const std::function<void(const placed_record&)>& add) override {
    if (is_interrupted_ || file_ == files_.size())
      return false;
    if (!open_)
      open();
    std::string chunk(bytes_per_take, '\0');
    const auto n = uninterrupted([&] { return ::read(open_.get(), chunk.data(), chunk.size()); });
    if (n < 0)
      throw_errno("feed", files_[file_], "a file that can be read");
    if (n == 0) {
      end_file(add);
      return file_ < files_.size();
    }
    half_line_.append(chunk, 0, static_cast<std::size_t>(n));
    add_lines(add);
    if (half_line_.size() > most_record_bytes)
      throw_file_error(errc::io, "feed", files_[file_],
                       "a line of more than " + std::to_string(most_record_bytes) + " bytes",
                       "records of at most that: larger ones belong in a store, and their names in "
                       "the feed");
    return true;
  }
  bool acknowledge(std::span<const std::string>) override { return true; }
  void interrupt() noexcept override { is_interrupted_ = true; }

private:
  void move_to(const std::string& place) {
    const auto colon = place.find(':');
    const std::string_view text = place;
    const auto file = number_in(text.substr(0, colon));
    const auto offset = colon == place.npos ? std::nullopt : number_in(text.substr(colon + 1));
    if (!file || !offset || *file >= files_.size())
      throw_error(errc::mismatch, "feed", "a journal that has read file " + place,
                  "the files that the journal was begun with: " + std::to_string(files_.size())
                      + " are given");
    file_ = static_cast<std::size_t>(*file);
    offset_ = *offset;
  }

  void open() {
    const auto& path = files_[file_];
    open_ = file_descriptor::open(path);
    const auto end = ::lseek(open_.get(), 0, SEEK_END);
    if (offset_ > 0 && (end < 0 || static_cast<std::uint64_t>(end) < offset_))
      throw_file_error(errc::mismatch, "feed", path, "a file that has become shorter",
                       "the one of whose first " + std::to_string(offset_)
                           + " bytes the journal has the records");
    if (end >= 0 && ::lseek(open_.get(), static_cast<off_t>(offset_), SEEK_SET) < 0)
      throw_errno("feed", path, "a file in which one can begin anywhere");
  }

  void add_line(const std::function<void(const placed_record&)>& add, std::size_t begin,
                std::size_t size, std::size_t ends) {
    offset_ += size + ends;
    const auto place = std::to_string(file_) + ':' + std::to_string(offset_);
    add({.place = place, .content = std::string_view{half_line_}.substr(begin, size)});
  }
  void add_lines(const std::function<void(const placed_record&)>& add) {
    std::size_t begin = 0;
    for (auto end = half_line_.find('\n', searched_); end != half_line_.npos;
         end = half_line_.find('\n', begin)) {
      add_line(add, begin, end - begin, 1);
      begin = end + 1;
    }
    half_line_.erase(0, begin);
    searched_ = half_line_.size();
  }
  void end_file(const std::function<void(const placed_record&)>& add) {
    if (!half_line_.empty())
      add_line(add, 0, half_line_.size(), 0);
    half_line_.clear();
    searched_ = 0;
    open_ = {};
    offset_ = 0;
    ++file_;
  }

  const std::vector<std::string>& files_;
  std::size_t file_ = 0;
  /// Behind the last line that was added.
  std::uint64_t offset_ = 0;
  file_descriptor open_;
  /// What was read after it, and how much of that has no newline.
  std::string half_line_;
  std::size_t searched_ = 0;
  std::atomic<bool> is_interrupted_ = false;
};

std::unique_ptr<feed_reader> files_of_lines::begin(const std::string& last) {
  return std::make_unique<line_taker>(files_, last);
}

} // namespace

std::shared_ptr<feed_input> file_lines(std::vector<std::string> files) {
  if (files.empty())
    refuse_argument("feed.files", "no file", "at least one");
  return std::make_shared<files_of_lines>(std::move(files));
}

} // namespace leat
