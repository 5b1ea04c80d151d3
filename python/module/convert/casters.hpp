#pragma once

#include <leat/leat.hpp>

#include "python/module/python.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace leat::python {

/// Reads the element type that a Python object names: "f32", "float32", a dtype of NumPy or torch.
bool dtype_from(nb::handle from, dtype& to);

/// A path: a str, or anything with __fspath__ (pathlib.Path), in the encoding of file names.
struct path_text : std::string {
  using std::string::string;
};

/// One pattern of paths, or several.
using patterns = std::variant<path_text, std::vector<path_text>>;

/// Calls a source function that takes one pattern or several.
template <class Source>
auto with_patterns(Source source, const patterns& names) {
  if (const auto* one = std::get_if<path_text>(&names))
    return source(std::string{*one});
  const auto& several = std::get<std::vector<path_text>>(names);
  return source(std::vector<std::string>{several.begin(), several.end()});
}

/// A duration: a timedelta, or a number of seconds.
using time_or_seconds = std::variant<std::chrono::milliseconds, double>;

inline std::chrono::milliseconds time_of(const time_or_seconds& x) {
  if (const auto* time = std::get_if<std::chrono::milliseconds>(&x))
    return *time;
  constexpr double longest = 1e12; // more would overflow
  const auto seconds = std::min(std::get<double>(x), longest);
  return std::chrono::milliseconds{static_cast<std::int64_t>(1000 * std::max(-longest, seconds))};
}

/// Weights by the step from which they apply.
using weights_by_step = std::map<std::uint64_t, std::vector<double>>;

inline std::vector<weight_change> changes_of(const weights_by_step& xs) {
  std::vector<weight_change> changes;
  for (const auto& [step, weights] : xs)
    changes.push_back({step, weights});
  return changes;
}

} // namespace leat::python

namespace nanobind::detail {

template <>
struct type_caster<leat::python::path_text> {
  NB_TYPE_CASTER(leat::python::path_text, const_name("str | os.PathLike[str]"))

  bool from_python(handle from, std::uint8_t, cleanup_list*) noexcept {
    auto path = steal(PyOS_FSPath(from.ptr()));
    if (path.is_valid() && PyUnicode_Check(path.ptr()))
      path = steal(PyUnicode_EncodeFSDefault(path.ptr()));
    char* text = nullptr;
    Py_ssize_t size = 0;
    if (!path.is_valid() || PyBytes_AsStringAndSize(path.ptr(), &text, &size) != 0) {
      PyErr_Clear();
      return false;
    }
    value.assign(text, static_cast<std::size_t>(size));
    return true;
  }
  static handle from_cpp(const leat::python::path_text& x, rv_policy, cleanup_list*) noexcept {
    return PyUnicode_DecodeFSDefaultAndSize(x.data(), static_cast<Py_ssize_t>(x.size()));
  }
};

/// Converts an enumerator from and to its name; its value is the index in the list of names.
template <class E, class Names>
struct enumerator_caster {
  NB_TYPE_CASTER(E, Names::signature)

  bool from_python(handle from, std::uint8_t, cleanup_list*) noexcept {
    Py_ssize_t size = 0;
    const char* text =
        PyUnicode_Check(from.ptr()) ? PyUnicode_AsUTF8AndSize(from.ptr(), &size) : nullptr;
    if (!text) {
      PyErr_Clear();
      return false;
    }
    const std::string_view name{text, static_cast<std::size_t>(size)};
    const auto found = std::find(Names::all.begin(), Names::all.end(), name);
    value = static_cast<E>(found - Names::all.begin());
    return found != Names::all.end();
  }
  static handle from_cpp(E x, rv_policy, cleanup_list*) noexcept {
    const auto name = Names::all[static_cast<std::size_t>(x)];
    return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
  }
};

template <>
struct type_caster<leat::dtype> {
  NB_TYPE_CASTER(leat::dtype, const_name("str"))

  bool from_python(handle from, std::uint8_t, cleanup_list*) noexcept {
    return leat::python::dtype_from(from, value);
  }
  static handle from_cpp(leat::dtype x, rv_policy, cleanup_list*) noexcept {
    const auto name = to_string(x);
    return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
  }
};

/// A list or tuple of extents.
template <>
struct type_caster<leat::shape> {
  NB_TYPE_CASTER(leat::shape, const_name("collections.abc.Sequence[int]"))

  bool from_python(handle from, std::uint8_t, cleanup_list*) noexcept;
  static handle from_cpp(const leat::shape& x, rv_policy, cleanup_list*) noexcept;
};

#define LEAT_PYTHON_ENUMERATORS(E, SIGNATURE, ...)                                                 \
  struct E##_names {                                                                               \
    static constexpr auto signature = const_name(SIGNATURE);                                       \
    static constexpr auto all = std::to_array<std::string_view>({__VA_ARGS__});                    \
  };                                                                                               \
  template <>                                                                                      \
  struct type_caster<leat::E> : enumerator_caster<leat::E, E##_names> {}

LEAT_PYTHON_ENUMERATORS(shuffle_kind, "typing.Literal['none', 'full', 'windowed']", "none", "full",
                        "windowed");
LEAT_PYTHON_ENUMERATORS(epoch_end, "typing.Literal['automatic', 'drop', 'mask', 'cycle']",
                        "automatic", "drop", "mask", "cycle");
LEAT_PYTHON_ENUMERATORS(file_format, "typing.Literal['tar', 'lines', 'json_lines']", "tar", "lines",
                        "json_lines");
LEAT_PYTHON_ENUMERATORS(pack_fit, "typing.Literal['first', 'best']", "first", "best");
LEAT_PYTHON_ENUMERATORS(pack_cut, "typing.Literal['never', 'above', 'always']", "never", "above",
                        "always");
LEAT_PYTHON_ENUMERATORS(deduplicate_kind, "typing.Literal['window', 'set']", "window", "set");
LEAT_PYTHON_ENUMERATORS(white_space, "typing.Literal['keep', 'lines', 'all']", "keep", "lines",
                        "all");
LEAT_PYTHON_ENUMERATORS(unicode_form, "typing.Literal['keep', 'nfc', 'nfd', 'nfkc', 'nfkd']",
                        "keep", "nfc", "nfd", "nfkc", "nfkd");
LEAT_PYTHON_ENUMERATORS(mix_rule, "typing.Literal['deficit', 'random']", "deficit", "random");
LEAT_PYTHON_ENUMERATORS(mix_stop, "typing.Literal['all', 'first', 'cycle']", "all", "first",
                        "cycle");
LEAT_PYTHON_ENUMERATORS(null_policy, "typing.Literal['bad', 'no_field']", "bad", "no_field");
LEAT_PYTHON_ENUMERATORS(mix_schedule, "typing.Literal['steps', 'cost']", "steps", "cost");
LEAT_PYTHON_ENUMERATORS(file_order, "typing.Literal['stored', 'shuffled']", "stored", "shuffled");
LEAT_PYTHON_ENUMERATORS(padding_mode, "typing.Literal['constant', 'edge', 'reflect', 'symmetric']",
                        "constant", "edge", "reflect", "symmetric");
LEAT_PYTHON_ENUMERATORS(image_layout, "typing.Literal['nchw', 'nhwc']", "nchw", "nhwc");
LEAT_PYTHON_ENUMERATORS(rank_loss, "typing.Literal['back', 'alone']", "back", "alone");
LEAT_PYTHON_ENUMERATORS(dispatch_policy, "typing.Literal['on_demand', 'round_robin', 'by_lane']",
                        "on_demand", "round_robin", "by_lane");
LEAT_PYTHON_ENUMERATORS(bad_sample_policy, "typing.Literal['fail', 'substitute', 'mask']", "fail",
                        "substitute", "mask");
LEAT_PYTHON_ENUMERATORS(cause, "str", "truncated", "corrupt", "empty", "missing_field",
                        "unsupported", "too_large", "function_error", "wrong_shape", "killed");

#undef LEAT_PYTHON_ENUMERATORS

} // namespace nanobind::detail
