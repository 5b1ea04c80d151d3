#include "runtime/sources/sequential_source.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/error.hpp>
#include <leat/notice.hpp>

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Readers that are kept for later records of their units.
constexpr std::size_t max_kept = 64;

/// An empty state is also a state.
std::string to_code(const std::optional<std::string>& state) {
  return state ? "+" + *state : std::string{};
}

std::optional<std::string> state_from(const std::string& code) {
  return code.empty() ? std::nullopt : std::optional{code.substr(1)};
}

/// Calls a user's function; exceptions of other types than leat's become `errc::io`.
template <class Call>
auto guarded(const std::string& stage, const std::string& what, Call call) {
  try {
    return call();
  } catch (const error&) {
    throw;
  } catch (...) { // a bad sample as well: there is none where a reader is opened
    throw error_in_flight(errc::io, {.stage = stage, .got = what + " threw: "});
  }
}

[[noreturn]] void ends_early(const std::string& stage, std::uint64_t unit) {
  throw_error(errc::torn_file, stage,
              "fewer records when unit " + std::to_string(unit) + " was read again",
              "the same as before");
}

/// The next record, good or bad; null at the end. `emptied` is only scratch space: readers may lend
/// it bytes of theirs.
std::shared_ptr<const stored_sample> read_record(const std::string& stage,
                                                 sequential_reader& reader, sample& emptied) {
  sample_access::reset(emptied, nullptr);
  return guarded(stage, "next", [&]() -> std::shared_ptr<const stored_sample> {
    try {
      return reader.next(emptied) ? stored_sample::of(emptied) : nullptr;
    } catch (const bad_sample& x) {
      return stored_sample::of(x);
    }
  });
}

/// Reads `count` records again.
void pass_over(const std::string& stage, sequential_reader& reader, std::uint64_t unit,
               std::uint64_t count) {
  sample dropped;
  for (std::uint64_t i = 0; i < count; ++i)
    if (!read_record(stage, reader, dropped))
      ends_early(stage, unit);
}

} // namespace

class sequential_source::reader final : public unit_reader {
public:
  reader(const sequential_source& source, std::uint64_t unit, const stream_place& from)
      : stage_(source.full_name_), unit_(unit), user_(source.open_user(unit)), number_(from.number),
        state_(from.restart) {
    if (const auto state = state_from(from.restart))
      guarded(stage_, "load", [&] { user_->load(*state); });
    else if (number_ > 0)
      replay();
    if (number_ == 0)
      save();
  }

  bool next(stream_record& into) override {
    auto content = read_record(stage_, *user_, sample_);
    if (!content)
      return false;
    into = {.unit = unit_, .number = number_, .key = state_, .content = std::move(content)};
    ++number_;
    save();
    return true;
  }

  stream_place place() const override {
    return {.number = number_, .offset = 0, .restart = state_};
  }

private:
  void replay() {
    notice(stage_ + " reads " + std::to_string(number_) + " records of unit "
           + std::to_string(unit_) + " again, because its reader saves no state");
    pass_over(stage_, *user_, unit_, number_);
  }

  void save() {
    state_ = to_code(guarded(stage_, "save", [&] { return user_->save(); }));
  }

  std::string stage_;
  std::uint64_t unit_;
  std::unique_ptr<sequential_reader> user_;
  std::uint64_t number_;
  /// The state before the next record, as a code.
  std::string state_;
  sample sample_;
};

sequential_source::sequential_source(const std::string& name, std::uint64_t units,
                                     open_sequential open)
    : full_name_(name), name_(name.substr(0, name.rfind('@'))), units_(units),
      open_(std::move(open)) {}

std::unique_ptr<unit_reader> sequential_source::open(std::uint64_t unit, const stream_place& from,
                                                     const reader_options&) const {
  return std::make_unique<reader>(*this, unit, from);
}

std::unique_ptr<sequential_reader> sequential_source::open_user(std::uint64_t unit) const {
  auto opened = guarded(full_name_, "open", [&] { return open_(unit); });
  if (!opened)
    throw_error(errc::not_found, full_name_, "no reader for unit " + std::to_string(unit),
                "one for each unit");
  return opened;
}

void sequential_source::read(const stream_record& record, sample& into) const {
  auto content = std::dynamic_pointer_cast<const stored_sample>(record.content);
  if (!content)
    content = record.key.empty() ? remake_by_replay(record) : remake_by_state(record);
  content->copy_to(into);
}

sequential_source::content_ptr
sequential_source::remake_by_state(const stream_record& record) const {
  const auto user = open_user(record.unit);
  guarded(full_name_, "load", [&] { user->load(state_from(record.key).value()); });
  sample scratch;
  auto content = read_record(full_name_, *user, scratch);
  if (!content)
    ends_early(full_name_, record.unit);
  return content;
}

sequential_source::content_ptr
sequential_source::remake_by_replay(const stream_record& record) const {
  auto user = take_before(record.unit, record.number);
  pass_over(full_name_, *user.reader, record.unit, record.number - user.next);
  sample scratch;
  auto content = read_record(full_name_, *user.reader, scratch);
  if (!content)
    ends_early(full_name_, record.unit);
  user.next = record.number + 1;
  keep(std::move(user));
  return content;
}

sequential_source::replayed sequential_source::take_before(std::uint64_t unit,
                                                           std::uint64_t number) const {
  {
    mutex_lock lock{mutex_};
    auto found = kept_.end();
    for (auto x = kept_.begin(); x != kept_.end(); ++x)
      if (x->unit == unit && x->next <= number && (found == kept_.end() || x->next > found->next))
        found = x; // the nearest
    if (found != kept_.end()) {
      auto user = std::move(*found);
      kept_.erase(found);
      return user;
    }
  }
  return {unit, 0, open_user(unit)};
}

void sequential_source::keep(replayed x) const {
  std::list<replayed> dropped; // destroyed without the lock
  mutex_lock lock{mutex_};
  kept_.push_back(std::move(x));
  if (kept_.size() > max_kept)
    dropped.splice(dropped.end(), kept_, kept_.begin());
}

void sequential_source::append_id(const stream_record& record, std::string& to) const {
  to += name_;
  to += "/" + std::to_string(record.unit) + "/" + std::to_string(record.number);
}

source_facts sequential_source::facts() const {
  source_facts x{.files = units_, .records = 0, .bytes = 0, .digest = {}};
  hash_stream hash;
  hash.add(full_name_);
  hash.add(units_);
  x.digest = hash.digest128();
  return x;
}

} // namespace leat
