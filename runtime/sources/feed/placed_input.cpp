#include "runtime/sources/feed/placed_input.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/sources/live/sole_right.hpp"

#include <utility>

namespace leat {

namespace {

/// Bytes that say how long a place is.
constexpr std::size_t placed_head = 2;
constexpr unsigned placed_byte_bits = 8;
constexpr unsigned placed_byte_mask = 0xff;

} // namespace

std::string join_placed(const placed_record& x) {
  std::string bytes;
  bytes.reserve(placed_head + x.place.size() + x.content.size());
  bytes += static_cast<char>(x.place.size() & placed_byte_mask);
  bytes += static_cast<char>(x.place.size() >> placed_byte_bits);
  bytes += x.place;
  bytes += x.content;
  return bytes;
}

std::optional<placed_record> split_placed(std::string_view bytes) {
  if (bytes.size() < placed_head)
    return std::nullopt;
  const std::size_t size =
      static_cast<unsigned char>(bytes[0])
      + (std::size_t{static_cast<unsigned char>(bytes[1])} << placed_byte_bits);
  bytes.remove_prefix(placed_head);
  if (size > most_place_bytes || size > bytes.size())
    return std::nullopt;
  return placed_record{.place = bytes.substr(0, size), .content = bytes.substr(size)};
}

class placed_input::reader : public record_reader {
public:
  explicit reader(placed_input& of)
      : of_(of), right_(of.taken_, "feed's input \"" + of.name() + '"') {}
  ~reader() override {
    const mutex_lock lock{of_.mutex_};
    of_.open_ = nullptr;
  }

  result take(record_store& into) override {
    const auto from = opened(into);
    if (!from)
      return {state::interrupted};
    result got;
    const bool goes_on = from->take([&](const placed_record& x) {
      if (x.place.size() > most_place_bytes)
        throw_error(errc::io, "feed's input \"" + of_.name() + '"',
                    "a place of " + std::to_string(x.place.size()) + " bytes",
                    "one of at most " + std::to_string(most_place_bytes));
      into.append(join_placed(x));
      got.bytes += x.content.size();
    });
    if (!goes_on)
      got.now = is_interrupted_ ? state::interrupted : state::ended;
    return got;
  }

  void reopen(const record_store& ended) override {
    const auto from = opened(ended);
    const auto refuse = [&](const placed_record& x) {
      throw_error(errc::io, "feed's input \"" + of_.name() + '"',
                  "a record at the place " + excerpt(x.place) + ", after the origin's end",
                  "nothing: the journal has noted the end");
    };
    while (from && from->take(refuse)) {
    }
  }

  void interrupt() override {
    const mutex_lock lock{of_.mutex_};
    is_interrupted_ = true;
    if (of_.open_)
      of_.open_->interrupt();
  }

private:
  /// Null after `interrupt`.
  std::shared_ptr<feed_reader> opened(const record_store& into) {
    {
      const mutex_lock lock{of_.mutex_};
      if (of_.open_ || is_interrupted_)
        return of_.open_;
    }
    std::shared_ptr<feed_reader> made = of_.from_->begin(last_place(into));
    const mutex_lock lock{of_.mutex_};
    if (is_interrupted_)
      return nullptr;
    return of_.open_ = std::move(made);
  }

  std::string last_place(const record_store& of) const {
    if (of.next() == of.first())
      return {};
    sample holds;
    const auto bytes = of.read(of.next() - 1, holds);
    const auto found = split_placed({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!found)
      throw_error(errc::mismatch, "feed's input \"" + of_.name() + '"',
                  "a journal whose records have no places",
                  "the journal of a queue's feed, or an empty directory");
    return std::string{found->place};
  }

  placed_input& of_;
  sole_right right_;
  std::atomic<bool> is_interrupted_ = false;
};

std::unique_ptr<record_reader> placed_input::begin() {
  return std::make_unique<reader>(*this);
}

void placed_input::set_fields(sample& into, std::span<const std::byte> content) const {
  if (content_format() == feed_format::samples)
    leat::set_fields(into, content);
  else
    into.borrow("text", content);
}

bool placed_input::is_open() const {
  const mutex_lock lock{mutex_};
  return open_ != nullptr;
}

bool placed_input::acknowledge(std::span<const std::string> places) {
  std::shared_ptr<feed_reader> origin;
  {
    const mutex_lock lock{mutex_};
    origin = open_;
  }
  return origin && origin->acknowledge(places);
}

} // namespace leat
