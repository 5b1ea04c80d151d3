#include "runtime/cluster/state_directory.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/storage/durable_file.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

namespace leat {

namespace {

constexpr std::string_view job_files = "job";
constexpr std::string_view coordinator_files = "coordinator";
constexpr std::string_view state_files = "state";

std::string file_name(std::string_view kind, std::uint64_t number) {
  return std::string{kind} + '.' + std::to_string(number);
}

/// The number in "kind.NUMBER", and in what may stand after it at a temporary file; nothing for
/// other names.
std::optional<std::uint64_t> number_in_name(std::string_view name, std::string_view kind) {
  if (name.ends_with(temporary_suffix))
    name = name.substr(0, name.find('.', std::min(name.size(), kind.size() + 1)));
  std::uint64_t number = 0;
  const auto digits = name.substr(std::min(name.size(), kind.size() + 1));
  const auto problem = std::from_chars(digits.data(), digits.data() + digits.size(), number).ec;
  if (problem != std::errc{} || file_name(kind, number) != name)
    return std::nullopt;
  return number;
}

/// The numbers of all files of a kind, rising.
std::vector<std::uint64_t> numbers_of(const std::vector<std::string>& names,
                                      std::string_view kind) {
  std::vector<std::uint64_t> result;
  for (const auto& x : names)
    if (const auto number = number_in_name(x, kind); number && !x.ends_with(temporary_suffix))
      result.push_back(*number);
  std::sort(result.begin(), result.end());
  return result;
}

/// How often a listing may name files that are gone.
constexpr int most_looks = 100;

/// 0 if there is none.
std::uint64_t newest_of(const std::vector<std::string>& names, std::string_view kind) {
  const auto numbers = numbers_of(names, kind);
  return numbers.empty() ? 0 : numbers.back();
}

std::uint64_t after(std::uint64_t number, const std::string& directory) {
  if (number == std::numeric_limits<std::uint64_t>::max())
    throw_file_error(errc::torn_file, "cluster", directory,
                     "a file with the number " + std::to_string(number), "numbers that leat gave");
  return number + 1;
}

/// The text of a file that holds one line; nothing if it is not whole.
std::optional<std::string> line_in(const std::optional<std::string>& text) {
  if (!text || text->size() < 2 || text->find('\n') != text->size() - 1)
    return std::nullopt;
  return text->substr(0, text->size() - 1);
}

void check_line(const std::string& text, const char* what) {
  const auto is_control = [](char x) { return static_cast<unsigned char>(x) < ' ' || x == 0x7f; };
  if (text.empty() || text.size() > 4096 || std::any_of(text.begin(), text.end(), is_control))
    refuse_argument("cluster", std::string{what} + " " + excerpt(text),
                    "1 to 4096 printable bytes");
}

[[noreturn]] void refuse_other_job(const state_directory& directory, const std::string& owner,
                                   const std::string& job) {
  throw_file_error(errc::invalid_argument, "cluster", directory.name(),
                   "the state of job " + in_quotes(owner),
                   "that of job " + in_quotes(job)
                       + ": name another directory, or continue the former job under its id");
}

bool is_temporary(std::string_view name) {
  return name.ends_with(temporary_suffix);
}

/// Whether a file of the kind is two or more below the newest life. A process that still makes a
/// temporary file there finds it gone, and takes a newer number.
bool is_older(std::string_view name, std::string_view kind, std::uint64_t newest) {
  const auto number = number_in_name(name, kind);
  return number && *number + 1 < newest;
}

} // namespace

std::uint64_t state_directory::newest_life() {
  refresh();
  return newest_of(list(), coordinator_files);
}

std::optional<coordinator_place> state_directory::address_of_newest() {
  const auto life = newest_of(list(), coordinator_files);
  const auto address = line_in(life == 0 ? std::nullopt : read(file_name(coordinator_files, life)));
  return address ? std::optional{coordinator_place{life, *address}} : std::nullopt;
}

std::uint64_t state_directory::begin_life(const std::string& job, const std::string& address) {
  check_line(job, "the job's id");
  check_line(address, "the address");
  prepare();
  take_for(job);
  refresh();
  const auto life =
      create_next(coordinator_files, address + '\n', after(newest_of(list(), state_files), name()));
  // The directory may have been handed over in between.
  if (const auto owner = find_owner(); owner && owner->job != job) {
    remove(file_name(coordinator_files, life));
    refuse_other_job(*this, owner->job, job);
  }
  const auto names = list();
  for (const auto kind : {coordinator_files, state_files})
    for (const auto& x : names)
      if (is_older(x, kind, life) && (kind == coordinator_files || is_temporary(x)))
        remove(x);
  return life;
}

void state_directory::write_state(std::uint64_t life, const std::string& job,
                                  std::string_view bytes) {
  try {
    replace(file_name(state_files, life), encode_state(job, bytes));
  } catch (const error&) {
    // A much newer life has removed the temporary file; nobody would look at the state either.
    if (newest_life() <= after(life, name()))
      throw;
  }
  // Later lives may have begun without writing anything: only files count here, not lives.
  auto numbers = numbers_of(list(), state_files);
  for (std::size_t i = 0; i + 2 < numbers.size(); ++i)
    remove(file_name(state_files, numbers[i]));
}

std::optional<stored_state> state_directory::read_state() {
  // A file that is removed while this looks for it was at most the third newest: another look finds
  // newer ones.
  for (int i = 0; i < most_looks; ++i) {
    const auto life = newest_of(list(), state_files);
    if (life == 0)
      return std::nullopt;
    const auto file = file_name(state_files, life);
    if (const auto text = read(file))
      return stored_state{life, decode_state(*text, name() + '/' + file)};
    refresh();
  }
  throw_file_error(errc::io, "cluster", name(), "names of states that cannot be opened",
                   "a directory that tells what it holds");
}

std::optional<std::string> state_directory::job() {
  const auto owner = find_owner();
  return owner ? std::optional{owner->job} : std::nullopt;
}

void state_directory::hand_over(const std::string& from, const std::string& to) {
  check_line(to, "the job's id");
  refresh();
  const auto owner = find_owner();
  if (owner && owner->job == to)
    return;
  if (!owner || owner->job != from)
    refuse_other_job(*this, owner ? owner->job : "", from);
  const auto number = after(owner->number, name());
  if (create(file_name(job_files, number), to + '\n') && is_newest(job_files, number))
    return;
  if (const auto now = find_owner(); !now || now->job != to)
    refuse_other_job(*this, now ? now->job : "", to);
}

/// The newest file of the kind "job".
std::optional<state_directory::owner> state_directory::find_owner() {
  for (int i = 0; i < most_looks; ++i) {
    const auto number = newest_of(list(), job_files);
    if (number == 0)
      return std::nullopt;
    const auto file = file_name(job_files, number);
    const auto text = read(file);
    if (const auto job = line_in(text))
      return owner{number, *job};
    if (text)
      throw_file_error(errc::torn_file, "cluster", name() + '/' + file,
                       std::to_string(text->size()) + " bytes", "one line, a job's id");
    refresh();
  }
  return std::nullopt;
}

void state_directory::take_for(const std::string& job) {
  for (;;) {
    if (const auto owner = find_owner(); owner && owner->job != job)
      refuse_other_job(*this, owner->job, job);
    else if (owner)
      return;
    if (create(file_name(job_files, 1), job + '\n'))
      return;
    refresh(); // another process was faster
  }
}

bool state_directory::is_newest(std::string_view kind, std::uint64_t number) {
  return newest_of(list(), kind) == number;
}

std::uint64_t state_directory::create_next(std::string_view kind, const std::string& text,
                                           std::uint64_t least) {
  for (auto number = least;; number = after(number, name())) {
    number = std::max(number, after(newest_of(list(), kind), name()));
    if (!create(file_name(kind, number), text))
      continue;
    // Files are removed when they are two below the newest. So if a newer one is that far ahead,
    // this number may have been in use before: a process that looked long ago has made it again.
    if (newest_of(list(), kind) <= after(number, name()))
      return number;
    remove(file_name(kind, number));
  }
}

} // namespace leat
