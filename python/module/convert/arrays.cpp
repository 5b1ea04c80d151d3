#include "python/module/convert/arrays.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <algorithm>
#include <string>

namespace leat::python {

namespace {

using nb::dlpack::dtype_code;

constexpr std::array codes{dtype_code::UInt,  dtype_code::Int,   dtype_code::UInt,
                           dtype_code::Int,   dtype_code::UInt,  dtype_code::Int,
                           dtype_code::UInt,  dtype_code::Int,   dtype_code::Float,
                           dtype_code::Float, dtype_code::Float, dtype_code::Bfloat};

/// Indexed by dtype.
constexpr auto numpy_names = std::to_array<std::string_view>(
    {"uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64",
     "float16", "bfloat16"});

std::string name_of(nb::dlpack::dtype x) {
  constexpr auto kinds = std::to_array<std::string_view>(
      {"int", "uint", "float", "pointers of ", "bfloat", "complex", "bool"});
  const auto kind = x.code < kinds.size() ? kinds[x.code] : "elements of ";
  return std::string{kind} + std::to_string(x.bits);
}

template <class Array>
Array array_over(const lent_memory& x, dtype type) {
  std::array<std::size_t, max_dimensions> shape{};
  std::copy(x.shape.begin(), x.shape.end(), shape.begin());
  return Array{const_cast<void*>(x.data), x.shape.size(),        shape.data(), x.owner, nullptr,
               dlpack_type(type),         nb::device::cpu::value};
}

template <class Framework>
nb::object exported(const lent_memory& x, dtype type) {
  return x.is_read_only ? nb::cast(array_over<nb::ndarray<Framework, nb::ro>>(x, type))
                        : nb::cast(array_over<nb::ndarray<Framework>>(x, type));
}

/// Imports NumPy before nanobind does, which would turn a ctrl-C during the import into a
/// TypeError.
void import_numpy() {
  static bool is_imported = false;
  if (!is_imported)
    nb::module_::import_("numpy");
  is_imported = true;
}

} // namespace

nb::dlpack::dtype dlpack_type(dtype x) noexcept {
  return {static_cast<std::uint8_t>(codes[static_cast<std::size_t>(x)]),
          static_cast<std::uint8_t>(8 * size_of(x)), 1};
}

dtype dtype_of_array(const any_array& x) {
  const auto type = x.dtype();
  if (type.code == static_cast<std::uint8_t>(dtype_code::Bool) && type.bits == 8)
    return dtype::u8;
  for (std::size_t i = 0; i < codes.size(); ++i)
    if (dlpack_type(static_cast<dtype>(i)) == type)
      return static_cast<dtype>(i);
  refuse_argument("sample", "an array of " + name_of(type) + ", a type that leat does not have",
                  "integers of 8 to 64 bits, float16, bfloat16, float32 or float64");
}

nb::object as_numpy(const lent_memory& x) {
  import_numpy();
  if (x.type != dtype::bf16)
    return exported<nb::numpy>(x, x.type);
  // NumPy has no bfloat16 of its own, and would make an array of objects.
  const auto bits = exported<nb::numpy>(x, dtype::u16);
  return bits.attr("view")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
}

nb::object as_dlpack(const lent_memory& x) {
  return exported<nb::array_api>(x, x.type);
}

nb::str decoded(std::string_view bytes, const char* errors) {
  auto text = nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), errors));
  if (!text.is_valid())
    throw nb::python_error();
  return text;
}

nb::object as_text(std::string_view bytes) {
  return decoded(bytes, "strict");
}

nb::object offsets_as_numpy(std::span<const std::uint64_t> offsets, nb::handle owner) {
  const auto rows = static_cast<std::int64_t>(offsets.size());
  return as_numpy({offsets.data(), dtype::i64, {&rows, 1}, owner, true});
}

bool dtype_from(nb::handle from, dtype& to) {
  const auto name = [&]() -> std::string {
    try {
      if (nb::isinstance<nb::str>(from))
        return nb::cast<std::string>(from);
      if (nb::hasattr(from, "dtype") && nb::isinstance<nb::type_object>(from)) // np.float32
        return nb::cast<std::string>(from.attr("__name__"));
      if (nb::hasattr(from, "name")) // a NumPy dtype
        return nb::cast<std::string>(from.attr("name"));
      auto text = nb::cast<std::string>(nb::str(from)); // "torch.float32"
      return text.substr(text.rfind('.') + 1);
    } catch (const std::exception&) {
      return {};
    }
  }();
  for (std::size_t i = 0; i < numpy_names.size(); ++i)
    if (name == numpy_names[i] || name == to_string(static_cast<dtype>(i))) {
      to = static_cast<dtype>(i);
      return true;
    }
  return false;
}

} // namespace leat::python

namespace nanobind::detail {

bool type_caster<leat::shape>::from_python(handle from, std::uint8_t, cleanup_list*) noexcept {
  try {
    const auto n = len(from);
    if (n > leat::shape::max_rank)
      return false;
    value = {};
    for (std::size_t i = n; i-- > 0;)
      value = value.behind(cast<std::size_t>(from[i]));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

handle type_caster<leat::shape>::from_cpp(const leat::shape& x, rv_policy, cleanup_list*) noexcept {
  PyObject* all = PyTuple_New(static_cast<Py_ssize_t>(x.rank()));
  for (std::size_t i = 0; all && i < x.rank(); ++i)
    PyTuple_SetItem(all, static_cast<Py_ssize_t>(i), PyLong_FromSize_t(x[i]));
  return all;
}

} // namespace nanobind::detail
