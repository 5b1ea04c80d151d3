#pragma once

#include <leat/error.hpp>

#include "python/module/python.hpp"

#include <string>
#include <string_view>

namespace leat::python {

/// leat's exceptions become those of leat/errors.py, and theirs become leat's.
void bind_errors(nb::module_& m);

/// Throws what an exception of a Python function means for a job: a bad sample, with the places in
/// the code that it came from; but an error that ends the job if the machine lacks something
/// (MemoryError, such an OSError), and `errc::interrupted` for KeyboardInterrupt and SystemExit,
/// which then come out of the call that waits for the job. Holds the GIL.
[[noreturn]] void throw_for_job(nb::python_error& problem);

/// Throws an error that comes out of the call of leat as the exception itself. Holds the GIL.
[[noreturn]] void throw_through(const nb::python_error& problem);
[[noreturn]] void throw_through(const nb::object& raised, std::string text);
/// What would come out so, pickled for another process, in which the job is. Holds the GIL.
std::string pickled_through();

/// The same as text on one line: "ValueError: no number (train.py:12 in label)". Holds the GIL.
std::string text_of(const nb::python_error& problem);

/// A text that names a file or quotes a sample, as a str: bytes that are not UTF-8 become \xhh.
/// Holds the GIL.
nb::str as_message(std::string_view text);

/// The Python exception for an error, with all its details. Holds the GIL.
nb::object exception_of(const error& problem);

} // namespace leat::python
