#include "runtime/base/trace.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

#include <leat/notice.hpp>

#include <algorithm>

namespace leat {

namespace {

/// Room for notes and the ending, which follow the last span.
constexpr std::uint64_t reserved_bytes = 2048;
/// Set in the numbers of names of details.
constexpr std::uint32_t detail_bit = std::uint32_t{1} << 31;

std::string json_text(std::string_view text) {
  return '"' + json_escaped(as_utf8(text)) + '"';
}

void begin_event(std::string& to, char phase, std::uint32_t process, std::uint32_t track) {
  to += ",\n{\"ph\":\"";
  to += phase;
  to += "\",\"pid\":";
  append_number(to, process);
  to += ",\"tid\":";
  append_number(to, track);
}

/// Appends a time in microseconds.
void append_time(std::string& to, std::int64_t ns) {
  const auto x = static_cast<std::uint64_t>(std::max<std::int64_t>(0, ns));
  append_number(to, x / 1000);
  const auto rest = x % 1000;
  to += '.';
  to += static_cast<char>('0' + rest / 100);
  to += static_cast<char>('0' + rest / 10 % 10);
  to += static_cast<char>('0' + rest % 10);
}

} // namespace

void trace_track::add(std::uint32_t name, std::int64_t begin_ns, std::int64_t end_ns,
                      const arguments& x) noexcept {
  const auto& full = (name & detail_bit) != 0 ? recorder_.is_full_of_details_ : recorder_.is_full_;
  if (full.load(std::memory_order_relaxed)) {
    recorder_.left_out_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const mutex_lock lock{mutex_};
  spans_.push_back({begin_ns, end_ns, x, name}); // does not throw: the memory is reserved
  if (spans_.size() == spans_at_a_time)
    flush();
}

void trace_track::flush() noexcept {
  try {
    recorder_.write(*this, spans_);
  } catch (...) { // no memory for the text
    recorder_.left_out_.fetch_add(spans_.size(), std::memory_order_relaxed);
  }
  spans_.clear();
}

trace_recorder::trace_recorder(std::uint64_t max_bytes, sink to)
    : max_bytes_(max_bytes - std::min(max_bytes, reserved_bytes)),
      max_detail_bytes_(max_bytes_ / 4 * 3), began_ns_(steady_ns()), sink_(std::move(to)) {
  const mutex_lock lock{mutex_};
  send("{\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_labels\","
       "\"args\":{\"labels\":\"leat\"}}");
}

trace_recorder::~trace_recorder() {
  try {
    flush();
  } catch (...) { // no memory for the ending, which the file has already
  }
}

std::uint32_t trace_recorder::add_process(const std::string& name) {
  const mutex_lock tracks{tracks_mutex_};
  const auto number = ++processes_;
  const mutex_lock lock{mutex_};
  append_metadata("process_name", number, 0, "\"name\":" + json_text(name));
  return number;
}

trace_track& trace_recorder::track(std::uint32_t process, std::uint32_t number,
                                   const std::string& name) {
  const mutex_lock tracks{tracks_mutex_};
  auto& x = tracks_[{process, number}];
  if (x)
    return *x;
  x = std::make_unique<trace_track>(*this, process, number);
  const mutex_lock lock{mutex_};
  append_metadata("thread_name", process, number, "\"name\":" + json_text(name));
  append_metadata("thread_sort_index", process, number, "\"sort_index\":" + std::to_string(number));
  return *x;
}

std::uint32_t trace_recorder::name(const std::string& text, std::vector<std::string> arguments,
                                   bool detail) {
  const mutex_lock lock{mutex_};
  for (auto& x : arguments)
    x = json_text(x);
  name_entry entry{json_text(text), std::move(arguments)};
  const auto found = std::find(names_.begin(), names_.end(), entry);
  const auto number = static_cast<std::uint32_t>(found - names_.begin());
  if (found == names_.end())
    names_.push_back(std::move(entry));
  return detail ? number | detail_bit : number;
}

void trace_recorder::flush() {
  const mutex_lock tracks{tracks_mutex_};
  for (auto& [key, x] : tracks_) {
    const mutex_lock of_track{x->mutex_};
    x->flush();
  }
  const mutex_lock lock{mutex_};
  send(""); // rewrites the ending, with the number of spans left out
}

void trace_recorder::write(const trace_track& track, const std::vector<trace_track::span>& spans) {
  const mutex_lock lock{mutex_};
  std::string text;
  std::string event;
  for (const auto& x : spans) {
    event.clear();
    append(event, track, x);
    if (!has_room(x, event.size(), text))
      left_out_.fetch_add(1, std::memory_order_relaxed);
    else
      text += event;
  }
  if (!text.empty())
    send(text);
}

/// Whether there is room for a span. Adds a note to the trace when a limit is reached.
bool trace_recorder::has_room(const trace_track::span& x, std::size_t bytes, std::string& text) {
  const auto total = bytes_ + text.size() + bytes;
  if (is_full_)
    return false;
  if (total > max_bytes_) {
    append_note(text, x.end_ns,
                "the trace has reached its size limit; nothing is recorded from here on");
    is_full_ = true;
    is_full_of_details_ = true;
    return false;
  }
  if ((x.name & detail_bit) == 0)
    return true;
  if (!is_full_of_details_ && total > max_detail_bytes_) {
    append_note(text, x.end_ns,
                "three quarters of the trace's size limit used; no single rows from here on");
    is_full_of_details_ = true;
  }
  return !is_full_of_details_;
}

void trace_recorder::append(std::string& to, const trace_track& track,
                            const trace_track::span& x) const {
  begin_event(to, 'X', track.process_, track.number_);
  append_time(to += ",\"ts\":", x.begin_ns - began_ns_);
  append_time(to += ",\"dur\":", x.end_ns - x.begin_ns);
  const auto& name = names_[x.name & ~detail_bit];
  (to += ",\"name\":") += name.text;
  const auto count = std::min(name.arguments.size(), x.values.size());
  for (std::size_t i = 0; i < count; ++i) {
    ((to += i == 0 ? ",\"args\":{" : ",") += name.arguments[i]) += ':';
    append_number(to, x.values[i]);
  }
  to += count > 0 ? "}}" : "}";
}

void trace_recorder::append_note(std::string& to, std::int64_t at_ns, const char* what) {
  begin_event(to, 'i', 1, 0);
  append_time(to += ",\"s\":\"g\",\"ts\":", at_ns - began_ns_);
  ((to += ",\"name\":\"") += what) += "\"}";
}

void trace_recorder::append_metadata(const char* kind, std::uint32_t process, std::uint32_t track,
                                     const std::string& arguments) {
  std::string text;
  begin_event(text, 'M', process, track);
  ((((text += ",\"name\":\"") += kind) += "\",\"args\":{") += arguments) += "}}";
  if (bytes_ + text.size() <= max_bytes_)
    send(text);
}

std::string trace_recorder::ending() const {
  std::string text = "\n],\"displayTimeUnit\":\"ms\",\"otherData\":{\"spans_left_out\":";
  append_number(text, left_out());
  return text + "}}\n";
}

/// A failure to write the trace ends the trace, not the job.
void trace_recorder::send(const std::string& text) {
  if (has_failed_)
    return;
  try {
    sink_(text, ending());
    bytes_ += text.size();
  } catch (...) {
    has_failed_ = true;
    is_full_ = true;
    is_full_of_details_ = true;
    notice("trace: it ends here: " + exception_text());
  }
}

} // namespace leat
