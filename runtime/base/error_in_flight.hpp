#pragma once

#include <leat/error.hpp>

#include <cerrno>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace leat {

[[noreturn]] inline void throw_error(errc code, std::string stage, std::string got,
                                     std::string needed) {
  throw error(code,
              {.stage = std::move(stage), .got = std::move(got), .needed = std::move(needed)});
}

[[noreturn]] inline void throw_file_error(errc code, std::string stage, std::string file,
                                          std::string got, std::string needed) {
  throw error(code, {.stage = std::move(stage),
                     .file = std::move(file),
                     .got = std::move(got),
                     .needed = std::move(needed)});
}

[[noreturn]] inline void refuse_argument(std::string stage, std::string got, std::string needed) {
  throw_error(errc::invalid_argument, std::move(stage), std::move(got), std::move(needed));
}

/// The text of the exception in flight. Call it inside a catch block. Exceptions of the standard
/// library whose own texts name its functions are put in plain words.
inline std::string exception_text() {
  try {
    throw;
  } catch (const std::bad_array_new_length&) {
    return "more elements than memory can hold";
  } catch (const std::bad_alloc&) {
    return "not enough memory";
  } catch (const std::length_error& problem) {
    return std::string{"more elements than memory can hold ("} + problem.what() + ")";
  } catch (const std::exception& problem) {
    return problem.what();
  } catch (...) {
    return "threw something other than a std::exception";
  }
}

/// Whether an error code of the operating system is about the state of the machine, and not about
/// the work that failed.
inline bool is_of_the_machine(const std::error_code& x) {
  if (x.category() != std::generic_category() && x.category() != std::system_category())
    return false;
  switch (x.value()) {
  case ENOMEM:
  case EMFILE:
  case ENFILE:
  case EAGAIN:
  case ENOBUFS:
  case ENOSPC:
  case EDQUOT:
  case EIO:
    return true;
  default:
    return false;
  }
}

/// What the machine lacks, if the exception in flight reports a lack; nothing for all other
/// exceptions. A size that no machine has (std::length_error, std::bad_array_new_length) is not a
/// lack: it comes from the data. Call it inside a catch block.
inline std::optional<std::string> lack_of_resources() {
  try {
    throw;
  } catch (const std::bad_array_new_length&) {
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return "no more memory";
  } catch (const std::system_error& problem) {
    return is_of_the_machine(problem.code()) ? std::optional<std::string>{problem.what()}
                                             : std::nullopt;
  } catch (...) {
    return std::nullopt;
  }
}

/// For code that must report a failure and has no memory left for its text. Initialized at program
/// start, with texts so short that a copy allocates nothing.
inline const error no_memory_to_tell{errc::no_resources, {.got = "no more memory"}};

/// The exception in flight as an error: itself if it is one; `errc::no_resources` if the machine
/// lacks something; else `otherwise`, with the exception's text. If there is no memory for that
/// text, `no_memory_to_tell`. Call it inside a catch block.
inline error error_in_flight(errc otherwise, error_details where) try {
  try {
    throw;
  } catch (const error& problem) {
    return problem;
  } catch (...) {
    const auto lack = lack_of_resources();
    where.got += lack.value_or(exception_text());
    if (lack)
      where.needed = "a machine, or limits of the process, that have more";
    return error(lack ? errc::no_resources : otherwise, std::move(where));
  }
} catch (const std::bad_alloc&) {
  return no_memory_to_tell;
}

} // namespace leat
