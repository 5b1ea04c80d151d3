#include "runtime/storage/read_now.hpp"

#include "runtime/base/text.hpp"

#include <algorithm>
#include <string>

namespace leat {

namespace {

/// The parts, or remainders of parts, that are still to be read.
class rest {
public:
  explicit rest(std::span<read_part> parts) : parts_(parts) { begin_part(); }

  std::span<const read_part> parts() const { return parts_; }

  /// Records that so many bytes have been read. Skips parts that ask for none.
  void take(std::uint64_t bytes) {
    while (!parts_.empty()) {
      auto& x = parts_.front();
      const auto n = std::min<std::uint64_t>(bytes, x.into.size());
      x.offset += n;
      x.into = x.into.subspan(static_cast<std::size_t>(n));
      bytes -= n;
      if (!x.into.empty())
        return;
      parts_ = parts_.subspan(1);
      begin_part();
    }
  }

  [[noreturn]] void torn(const stored_objects& from) const {
    throw error(errc::torn_file,
                {.stage = "read",
                 .file = from.name(whole_.object),
                 .offset = whole_.offset,
                 .got = "the end of the file after "
                        + counted(parts_.front().offset - whole_.offset, "byte") + " of it",
                 .needed = counted(whole_.into.size(), "byte")
                           + ": the file has become shorter since it was opened"});
  }

private:
  void begin_part() { whole_ = parts_.empty() ? read_part{} : parts_.front(); }

  std::span<read_part> parts_;
  /// The first part as it was asked for.
  read_part whole_;
};

} // namespace

void read_now(stored_objects& from, std::span<read_part> parts, const std::stop_token& stop) {
  // Even a read of no bytes is passed to the store: the object may be gone.
  rest todo{parts};
  while (!todo.parts().empty()) {
    const auto x = from.read_here(todo.parts(), stop);
    if (x.failure)
      throw error(*x.failure);
    todo.take(x.bytes);
    if (x.bytes == 0 && !todo.parts().empty())
      todo.torn(from);
  }
}

void read_now(stored_objects& from, std::size_t object, std::uint64_t offset,
              std::span<std::byte> into, const std::stop_token& stop) {
  read_part part{object, offset, into};
  read_now(from, {&part, 1}, stop);
}

std::size_t read_most(stored_objects& from, std::size_t object, std::uint64_t offset,
                      std::span<std::byte> into, const std::stop_token& stop) {
  std::size_t done = 0;
  do {
    const read_part part{object, offset + done, into.subspan(done)};
    const auto x = from.read_here({&part, 1}, stop);
    if (x.failure)
      throw error(*x.failure);
    if (x.bytes == 0)
      break;
    done += static_cast<std::size_t>(x.bytes);
  } while (done < into.size());
  return done;
}

} // namespace leat
