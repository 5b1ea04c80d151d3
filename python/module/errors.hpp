#pragma once

#include <leat/error.hpp>

#include "python/module/python.hpp"

#include <string>
#include <string_view>

namespace leat::python {

/// Translates leat's exceptions to those of leat/errors.py, and back.
void bind_errors(nb::module_& m);

/// Throws what an exception of a Python function means for a job: usually a bad sample, with the
/// places in the code that it came from. If the machine lacks something (MemoryError, some kinds of
/// OSError), it is an error that ends the job; for KeyboardInterrupt and SystemExit it is
/// `errc::interrupted`, and the call that waits for the job raises them. Holds the GIL.
[[noreturn]] void throw_for_job(nb::python_error& problem);

/// Throws an error for which the call of leat raises the given exception itself. Holds the GIL.
[[noreturn]] void throw_through(const nb::python_error& problem);
[[noreturn]] void throw_through(const nb::object& raised, std::string text);
/// The exception that would be raised so, pickled for the process in which the job runs. Holds the
/// GIL.
std::string pickled_through();

/// An exception as text on one line: "ValueError: no number (train.py:12 in label)". Holds the GIL.
std::string text_of(const nb::python_error& problem);

/// A text that names a file or quotes a sample, as a str: bytes that are not UTF-8 become \xhh.
/// Holds the GIL.
nb::str as_message(std::string_view text);

/// The Python exception for an error, with all its details. Holds the GIL.
nb::object exception_of(const error& problem);

} // namespace leat::python
