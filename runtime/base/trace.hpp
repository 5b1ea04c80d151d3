#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

class trace_recorder;

/// One row of a timeline: the spans of one thread, or of one thing that is in one state at a time.
/// Any thread may write. Spans nest or are disjoint; the viewer draws a span inside the one that
/// encloses it.
class trace_track {
public:
  trace_track(trace_recorder& recorder, std::uint32_t process, std::uint32_t number)
      : recorder_(recorder), process_(process), number_(number) {
    spans_.reserve(spans_at_a_time);
  }

  /// The numbers of a span, up to three; see trace_recorder::name.
  using arguments = std::array<std::uint64_t, 3>;

  /// Adds a span. `name`: see trace_recorder::name. Times are those of `steady_ns`.
  void add(std::uint32_t name, std::int64_t begin_ns, std::int64_t end_ns,
           const arguments& x = {}) noexcept;

private:
  friend class trace_recorder;

  static constexpr std::size_t spans_at_a_time = 512;

  struct span {
    std::int64_t begin_ns;
    std::int64_t end_ns;
    arguments values;
    std::uint32_t name;
  };

  void flush() noexcept;

  trace_recorder& recorder_;
  const std::uint32_t process_;
  const std::uint32_t number_;
  mutex mutex_;
  /// Guarded by `mutex_`. Its capacity is `spans_at_a_time`.
  std::vector<span> spans_;
};

/// Writes a timeline as JSON in Chrome's trace format, which Perfetto and chrome://tracing open, up
/// to a number of bytes. Spans of details (single rows and their stages) may take three quarters of
/// them, so that batches and waits are recorded for longer. Any thread may call all members.
class trace_recorder : not_copied {
public:
  /// Receives text to append, and the ending that would complete the JSON after it. Once it has
  /// thrown, it is not called again. One call at a time.
  using sink = std::function<void(std::string_view text, std::string_view ending)>;

  trace_recorder(std::uint64_t max_bytes, sink to);
  ~trace_recorder();

  /// A group of tracks.
  std::uint32_t add_process(const std::string& name);
  /// The track with this number, created if there is none; tracks are shown in the order of their
  /// numbers. It lives as long as the recorder.
  trace_track& track(std::uint32_t process, std::uint32_t number, const std::string& name);
  /// Registers a name for spans, with names for their arguments, and returns its number. `detail`:
  /// spans of this name are details (see above).
  std::uint32_t name(const std::string& text, std::vector<std::string> arguments = {},
                     bool detail = false);

  /// Writes all spans that tracks hold.
  void flush();
  /// Number of spans left out, because of the limit or for lack of memory.
  std::uint64_t left_out() const noexcept { return left_out_.load(std::memory_order_relaxed); }

private:
  friend class trace_track;

  struct name_entry {
    std::string text;
    std::vector<std::string> arguments;

    friend bool operator==(const name_entry&, const name_entry&) = default;
  };

  void write(const trace_track& track, const std::vector<trace_track::span>& spans);
  bool has_room(const trace_track::span& x, std::size_t bytes, std::string& text);
  void append(std::string& to, const trace_track& track, const trace_track::span& x) const;
  void append_note(std::string& to, std::int64_t at_ns, const char* what);
  void append_metadata(const char* kind, std::uint32_t process, std::uint32_t track,
                       const std::string& arguments);
  void send(const std::string& text);
  std::string ending() const;

  const std::uint64_t max_bytes_;
  const std::uint64_t max_detail_bytes_;
  const std::int64_t began_ns_;
  std::atomic<bool> is_full_ = false;
  std::atomic<bool> is_full_of_details_ = false;
  std::atomic<std::uint64_t> left_out_{0};

  mutex tracks_mutex_;
  // Guarded by `tracks_mutex_`:
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::unique_ptr<trace_track>> tracks_;
  std::uint32_t processes_ = 0;

  /// Lock order: `tracks_mutex_`, a track's mutex, this one.
  mutable mutex mutex_;
  // Guarded by `mutex_`:
  sink sink_;
  std::uint64_t bytes_ = 0;
  bool has_failed_ = false;
  std::vector<name_entry> names_;
};

} // namespace leat
