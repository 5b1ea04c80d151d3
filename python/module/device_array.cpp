#include "python/module/device_array.hpp"

#include <leat/error.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/convert/values.hpp"
#include "python/module/module.hpp"
#include "python/module/without_gil.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace leat::python {

namespace {

/// The driver's name for the default stream of all threads.
constexpr std::int64_t legacy_default = 1;
/// Of DLPack: no stream is to wait.
constexpr std::int64_t no_stream = -1;

/// DLPack's DLManagedTensor.
struct managed_tensor {
  static constexpr const char* name = "dltensor";

  nb::dlpack::dltensor tensor;
  void* context;
  void (*deleter)(managed_tensor*);
};

/// DLPack's DLManagedTensorVersioned.
struct managed_tensor_versioned {
  static constexpr const char* name = "dltensor_versioned";

  std::uint32_t major = 1;
  std::uint32_t minor = 0;
  void* context;
  void (*deleter)(managed_tensor_versioned*);
  std::uint64_t flags = 0;
  nb::dlpack::dltensor tensor;
};

/// What a capsule points to, until its consumer calls the deleter: in any thread, without the GIL.
template <class Managed>
struct exported_tensor {
  Managed managed = {};
  std::array<std::int64_t, max_dimensions> shape = {};
  std::array<std::int64_t, max_dimensions> strides = {};
  std::shared_ptr<lease> held;
};

/// Of a capsule that no consumer has taken.
template <class Managed>
void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, Managed::name))
    return;
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::name));
  managed->deleter(managed);
}

void* handle_of(std::int64_t stream) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(stream));
}

[[noreturn]] void refuse_stream(std::int64_t stream) {
  throw error(errc::invalid_argument,
              {.stage = "batch",
               .got = "stream=" + std::to_string(stream)
                      + (stream == 0 ? ", which may be either default stream" : ""),
               .needed = "1 (the legacy default stream) or None, 2 (that of each thread), -1 (no "
                         "stream waits), or the handle of a stream"});
}

void prepare_for(lease& of, std::int64_t stream) {
  if (stream < no_stream || stream == 0)
    refuse_stream(stream);
  without_gil([&] {
    if (stream == no_stream)
      of.on_device_for_all();
    else
      of.on_device(handle_of(stream));
  });
}

std::string name_of_device(device x) {
  return "cuda:" + std::to_string(x.id);
}

nb::tuple tuple_of(std::span<const std::int64_t> shape) {
  nb::list result;
  for (const auto extent : shape)
    result.append(extent);
  return nb::tuple(result);
}

} // namespace

device_array::device_array(std::shared_ptr<lease> held, const void* data, dtype type,
                           std::span<const std::int64_t> shape, device where)
    : lease_(std::move(held)), data_(data), type_(type), rank_(shape.size()), where_(where) {
  std::copy(shape.begin(), shape.end(), shape_.begin());
}

std::string device_array::repr() const {
  std::string extents;
  for (const auto extent : shape())
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  return "<leat.DeviceArray " + std::string{to_string(type_)} + "[" + extents + "] on "
         + name_of_device(where_) + ">";
}

template <class Managed>
nb::object device_array::capsule() const {
  auto made = std::make_unique<exported_tensor<Managed>>();
  made->shape = shape_;
  std::int64_t stride = 1;
  for (auto i = rank_; i-- > 0;) {
    made->strides[i] = stride;
    stride *= shape_[i];
  }
  made->held = lease_;
  auto& x = made->managed;
  x.tensor = {const_cast<void*>(data_),
              {where_.type, where_.id},
              static_cast<std::int32_t>(rank_),
              dlpack_type(type_),
              made->shape.data(),
              made->strides.data(),
              0};
  x.context = made.get();
  x.deleter = [](Managed* of) { delete static_cast<exported_tensor<Managed>*>(of->context); };
  auto result = nb::steal(PyCapsule_New(&x, Managed::name, &drop_capsule<Managed>));
  if (!result.is_valid())
    throw nb::python_error();
  (void)made.release();
  return result;
}

nb::object device_array::dlpack(const std::optional<std::int64_t>& stream,
                                const std::optional<version>& most,
                                const std::optional<dlpack_device>& to,
                                const std::optional<bool>& copies) const {
  if (to && *to != dlpack_device{where_.type, where_.id})
    throw nb::buffer_error(("an array on " + name_of_device(where_)
                            + " for another device: batches are copied to one device")
                               .c_str());
  if (copies.value_or(false))
    throw nb::buffer_error("a copy of an array on a device: copy what was imported");
  prepare_for(*lease_, stream.value_or(legacy_default));
  return most && most->first >= 1 ? capsule<managed_tensor_versioned>() : capsule<managed_tensor>();
}

nb::dict device_array::cuda_array_interface() const {
  if (type_ == dtype::bf16)
    throw nb::attribute_error("__cuda_array_interface__ has no bf16: use DLPack");
  // Consumers may wait for a stream or not, and use the memory in any: none is named, and the batch
  // is there.
  prepare_for(*lease_, no_stream);
  const auto code = dlpack_type(type_).code;
  const char kind = code == 0 ? 'i' : code == 1 ? 'u' : 'f';
  nb::dict result;
  result["shape"] = tuple_of(shape());
  result["typestr"] =
      (size_of(type_) == 1 ? "|" : "<") + std::string{kind} + std::to_string(size_of(type_));
  result["data"] = nb::make_tuple(reinterpret_cast<std::uintptr_t>(data_), false);
  result["strides"] = nb::none();
  result["stream"] = nb::none();
  result["version"] = 3;
  return result;
}

nb::object on_device(const std::shared_ptr<lease>& of, std::string_view field) {
  const auto found = (*of)->device_field(field);
  const auto& x = found.values;
  const auto values = nb::cast(device_array{of, x.data, x.type, {x.shape.data(), x.rank}, x.where});
  if (!x.is_ragged())
    return values;
  const auto rows = static_cast<std::int64_t>(x.offsets.size());
  return nb::module_::import_("leat.ragged_rows")
      .attr("Ragged")(values, device_array{of, found.offsets, dtype::i64, {&rows, 1}, x.where});
}

void used_on(lease& of, nb::handle stream) {
  std::int64_t number = 0; // what torch and CuPy call the legacy default stream
  const auto is_number = [&] {
    for (const auto* name : {"cuda_stream", "ptr"})
      if (nb::hasattr(stream, name))
        return nb::try_cast(stream.attr(name), number);
    return nb::try_cast(stream, number);
  }();
  if (!is_number)
    throw nb::type_error(("used_on() was given a " + name_of_type(stream)
                          + "; needed: the handle of a stream, or a stream of torch or CuPy")
                             .c_str());
  if (number < 0)
    refuse_stream(number);
  without_gil([&] { of.used_on(handle_of(number)); });
}

void bind_device_arrays(nb::module_& m) {
  nb::class_<device_array>(
      m, "DeviceArray", nb::is_weak_referenceable(),
      "A field of a batch in the memory of its loader's device, for torch.from_dlpack, "
      "jax.dlpack.from_dlpack, cupy.from_dlpack and others, which import it without a copy. It "
      "keeps the batch, as do the arrays that are made of it.")
      .def_prop_ro(
          "shape", [](const device_array& x) { return tuple_of(x.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"),
          "[size, ...]; of a ragged field's values [elements of all rows, ...].")
      .def_prop_ro("dtype", &device_array::type, nb::sig("def dtype(self) -> str"),
                   "Type of its elements, as a pipeline names it: \"f32\".")
      .def_prop_ro(
          "device", [](const device_array& x) { return name_of_device(x.where()); },
          "Where it lies: \"cuda:0\".")
      .def("__dlpack__", &device_array::dlpack, nb::kw_only(), "stream"_a = nb::none(),
           "max_version"_a = nb::none(), "dl_device"_a = nb::none(), "copy"_a = nb::none(),
           nb::sig("def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, "
                   "int] | None = None, dl_device: tuple[int, int] | None = None, copy: bool | "
                   "None = None) -> typing.Any"),
           "A capsule. `stream` waits until the batch is on the device, and counts as one that "
           "uses it: 1 or None is the legacy default stream, 2 that of each thread, else a handle. "
           "-1: the call itself waits. After -1 and 2, which does not say whose, the memory is "
           "written again once all work of the device is done. Raises BufferError for another "
           "device or "
           "a copy, InvalidArgument for 0.")
      .def(
          "__dlpack_device__",
          [](const device_array& x) { return nb::make_tuple(x.where().type, x.where().id); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"),
          "DLPack's type of the device, 2 for CUDA, and its number.")
      .def_prop_ro("__cuda_array_interface__", &device_array::cuda_array_interface,
                   nb::sig("def __cuda_array_interface__(self) -> dict[str, typing.Any]"),
                   "For consumers without DLPack, as `__dlpack__` with stream=-1. Raises "
                   "AttributeError for bf16.")
      .def(
          "__array__",
          [](const device_array& x, nb::args, nb::kwargs) {
            throw nb::type_error(("an array on " + name_of_device(x.where())
                                  + " is not one of NumPy: batch[name] is the same on the host")
                                     .c_str());
          },
          nb::sig("def __array__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Never"))
      .def("__len__", [](const device_array& x) { return x.shape().front(); })
      .def("__repr__", &device_array::repr);
}

} // namespace leat::python
