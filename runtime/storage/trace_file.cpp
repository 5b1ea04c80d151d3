#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/trace.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/storage/output_place.hpp"

#include <leat/trace.hpp>

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <string_view>

namespace leat {

namespace {

constexpr std::uint64_t least_bytes = std::uint64_t{64} << 10;

/// A plain file always ends with what completes the JSON, which the next text overwrites; anything
/// else gets it once, at the end.
class growing_file : not_copied {
public:
  explicit growing_file(const std::string& name)
      : place_(place_of_output(name, "trace")),
        file_(open_output(place_, O_WRONLY | O_CREAT | O_TRUNC, "trace")) {}
  ~growing_file() {
    if (!place_.is_file && !has_failed_)
      try {
        put(ending_);
      } catch (const error&) { // a reader of the trace sees that it is cut short
      }
  }

  void append(std::string_view text, std::string_view ending) {
    ending_ = ending;
    const auto begin = offset_;
    put(place_.is_file ? std::string{text}.append(ending) : std::string{text});
    offset_ = begin + text.size();
  }

private:
  void put(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = uninterrupted([&] {
        return place_.is_file
                   ? ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_))
                   : ::write(file_.get(), bytes.data(), bytes.size());
      });
      if (n <= 0) {
        has_failed_ = true;
        throw_errno("trace", place_.file.string(), "a file that can be written");
      }
      bytes.remove_prefix(static_cast<std::size_t>(n));
      offset_ += static_cast<std::uint64_t>(n);
    }
  }

  output_place place_;
  file_descriptor file_;
  std::uint64_t offset_ = 0;
  std::string ending_;
  bool has_failed_ = false;
};

} // namespace

trace::trace(const std::string& file, std::uint64_t max_bytes) {
  if (max_bytes < least_bytes)
    refuse_argument("trace", std::to_string(max_bytes) + " bytes",
                    "at least " + std::to_string(least_bytes));
  auto to = std::make_shared<growing_file>(file);
  recorder_ = std::make_unique<trace_recorder>(
      max_bytes,
      [to](std::string_view text, std::string_view ending) { to->append(text, ending); });
}

trace::~trace() = default;

void trace::flush() {
  recorder_->flush();
}

std::uint64_t trace::spans_left_out() const noexcept {
  return recorder_->left_out();
}

trace_recorder& recorder_of(trace& x) noexcept {
  return *x.recorder_;
}

} // namespace leat
