#include "python/module/sample.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_as.hpp"
#include "runtime/base/text.hpp"

#include <leat/bad_sample.hpp>

#include "python/module/convert/arrays.hpp"
#include "python/module/convert/values.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace leat::python {

namespace {

[[noreturn]] void refuse_kept(const char* what) {
  refuse_argument(what, "a use after the function to which it was given had returned",
                  "what is needed of it, copied before");
}

std::vector<std::int64_t> extents_of(const shape& dims) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < dims.rank(); ++i)
    result.push_back(static_cast<std::int64_t>(dims[i]));
  return result;
}

nb::object owner_of(lent_sample& x) {
  if (!x.owner.is_valid())
    x.owner = nb::module_::import_("builtins").attr("Exception")();
  return x.owner;
}

nb::object scalar_of(const std::byte* at, dtype type) {
  const auto read = [&]<class T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  if (type == dtype::f16)
    return nb::float_(static_cast<double>(static_cast<float>(read(f16{}))));
  if (type == dtype::bf16)
    return nb::float_(static_cast<double>(static_cast<float>(read(bf16{}))));
  return visit_type(type, [&](auto zero) -> nb::object {
    if constexpr (std::is_integral_v<decltype(zero)>)
      return nb::int_(read(zero));
    else
      return nb::float_(static_cast<double>(read(zero)));
  });
}

nb::bytes as_bytes(std::span<const std::byte> x) {
  return nb::bytes(reinterpret_cast<const char*>(x.data()), x.size());
}

/// A field as a Python value; an array keeps `owner` alive.
nb::object value_of(const sample& x, const std::string& name, nb::handle owner) {
  const auto bytes = x.bytes(name);
  if (x.is_bytes(name))
    return as_bytes(bytes);
  const auto type = x.type_of(name);
  const auto dims = extents_of(x.shape_of(name));
  if (dims.empty())
    return scalar_of(bytes.data(), type);
  return as_numpy({bytes.data(), type, dims, owner, true});
}

nb::object made(lent_sample& x, std::byte* at, dtype type, const shape& dims) {
  return as_numpy({at, type, extents_of(dims), owner_of(x), false});
}

} // namespace

sample& lent_sample::get() const {
  if (!at)
    refuse_kept("sample");
  return *at;
}

context& lent_context::get() const {
  if (!at)
    refuse_kept("context");
  return *at;
}

sample_lender::sample_lender() = default;

void sample_lender::begin(sample& x, context* in) {
  if (!sample_.is_valid()) {
    sample_ = nb::cast(lent_sample{});
    lent_ = nb::inst_ptr<lent_sample>(sample_);
  }
  lent_->at = &x;
  if (!in)
    return;
  if (!context_.is_valid()) {
    context_ = nb::cast(lent_context{});
    lent_context_ = nb::inst_ptr<lent_context>(context_);
  }
  lent_context_->at = in;
}

void sample_lender::end() {
  const bool has_arrays = lent_->owner.is_valid();
  if (has_arrays && Py_REFCNT(lent_->owner.ptr()) > 1)
    nb::module_::import_("gc").attr("collect")();
  const bool is_kept = has_arrays && Py_REFCNT(lent_->owner.ptr()) > 1;
  if (is_kept)
    lent_->owner.reset();
  abandon();
  if (is_kept)
    throw bad_sample(cause::function_error,
                     "the function kept an array over the sample's memory, which belongs to "
                     "another sample now; needed: a copy (numpy.array(x))");
}

void sample_lender::abandon() noexcept {
  if (lent_)
    lent_->at = nullptr;
  if (lent_ && Py_REFCNT(sample_.ptr()) > 1) { // a function kept it
    sample_.reset();
    lent_ = nullptr;
  }
  if (!lent_context_)
    return;
  lent_context_->at = nullptr;
  if (Py_REFCNT(context_.ptr()) > 1) {
    context_.reset();
    lent_context_ = nullptr;
  }
}

nb::dict fields_of(const sample& x) {
  nb::dict result;
  for (const auto& name : x.fields()) {
    auto value = value_of(x, name, nb::none());
    result[name.c_str()] = nb::hasattr(value, "copy") ? value.attr("copy")() : value;
  }
  return result;
}

void bind_sample(nb::module_& m) {
  using self = lent_sample;
  nb::class_<self>(m, "Sample",
                   "One training example on its way through a worker: named fields. Lent to a "
                   "function while it runs; so are the arrays over its memory.")
      .def_prop_ro(
          "id", [](const self& x) { return x.get().id(); }, "Id of the record, as logs show it.")
      .def_prop_ro(
          "cancelled", [](const self& x) { return x.get().cancelled(); },
          "True once the loader is being destroyed: a long function should return.")
      .def(
          "has", [](const self& x, std::string_view name) { return x.get().has(name); }, "name"_a,
          "Whether it has such a field.")
      .def("__contains__", [](const self& x, std::string_view name) { return x.get().has(name); })
      .def(
          "fields", [](const self& x) { return x.get().fields(); },
          "Names in the order in which they were set.")
      .def(
          "is_bytes", [](const self& x, const std::string& name) { return x.get().is_bytes(name); },
          "name"_a, "Whether a field is bytes, as str and bytes are.")
      .def(
          "is_ragged",
          [](const self& x, const std::string& name) { return x.get().is_ragged(name); }, "name"_a,
          "Whether its length may differ in every sample, as that of bytes.")
      .def(
          "type_of", [](const self& x, const std::string& name) { return x.get().type_of(name); },
          "name"_a, "Type of a field's elements: \"u8\", \"f32\", ...")
      .def(
          "shape_of", [](const self& x, const std::string& name) { return x.get().shape_of(name); },
          "name"_a, "Shape of a field.")
      .def(
          "bytes",
          [](const self& x, const std::string& name) { return as_bytes(x.get().bytes(name)); },
          "name"_a, nb::sig("def bytes(self, name: str) -> leat._names.Bytes"),
          "The bytes of a field, tensor or not.")
      .def(
          "text",
          [](const self& x, const std::string& name) { return as_text(x.get().text(name)); },
          "name"_a, nb::sig("def text(self, name: str) -> str"),
          "The bytes of a field as a str; they must be UTF-8.")
      .def(
          "__getitem__",
          [](self& x, const std::string& name) { return value_of(x.get(), name, owner_of(x)); },
          nb::sig("def __getitem__(self, name: str, /) -> typing.Any"),
          "A field: bytes, a number (rank 0), or a read-only array over the sample's memory.")
      .def(
          "get",
          [](self& x, const std::string& name) { return value_of(x.get(), name, owner_of(x)); },
          "name"_a, nb::sig("def get(self, name: str) -> typing.Any"), "As sample[name].")
      .def(
          "set",
          [](const self& x, const std::string& name, nb::handle value) {
            set_value(x.get(), name, value);
          },
          "name"_a, "value"_a.none(),
          nb::sig("def set(self, name: str, value: typing.Any) -> None"),
          "Sets a field: an int is int64, a float float64, a bool uint8; str and bytes are bytes; "
          "an array keeps its type, and its elements are copied.")
      .def(
          "__setitem__",
          [](const self& x, const std::string& name, nb::handle value) {
            set_value(x.get(), name, value);
          },
          "name"_a, "value"_a.none(),
          nb::sig("def __setitem__(self, name: str, value: typing.Any, /) -> None"))
      .def(
          "set_ragged",
          [](const self& x, const std::string& name, nb::handle values) {
            set_ragged(x.get(), name, values);
          },
          "name"_a, "values"_a,
          nb::sig("def set_ragged(self, name: str, values: typing.Any) -> None"),
          "Sets a field whose outermost dimension differs from sample to sample.")
      .def(
          "make",
          [](self& x, const std::string& name, const shape& dims, dtype type) {
            return made(x, x.get().make_tensor(name, type, dims), type, dims);
          },
          "name"_a, "shape"_a, "dtype"_a = "f32",
          nb::sig("def make(self, name: str, shape: collections.abc.Sequence[int], dtype: "
                  "typing.Any = 'f32') -> numpy.ndarray"),
          "Makes a tensor and returns it as an array, all of which must be written. If the batch "
          "has this field, its elements lie in the batch already and are not copied again.")
      .def(
          "make_bytes",
          [](self& x, const std::string& name, std::size_t size) {
            return made(x, x.get().make_bytes(name, size).data(), dtype::u8, shape{size});
          },
          "name"_a, "size"_a,
          nb::sig("def make_bytes(self, name: str, size: int) -> numpy.ndarray"),
          "Makes a bytes field and returns it as an array, uint8 [size], all of which must be "
          "written.")
      .def(
          "make_ragged",
          [](self& x, const std::string& name, std::size_t length, const shape& element,
             dtype type) {
            return made(x, x.get().make_ragged(name, type, length, element), type,
                        element.behind(length));
          },
          "name"_a, "length"_a, "element"_a = nb::tuple(), "dtype"_a = "f32",
          nb::sig("def make_ragged(self, name: str, length: int, element: "
                  "collections.abc.Sequence[int] = (), dtype: typing.Any = 'f32') -> "
                  "numpy.ndarray"),
          "Makes a ragged field of `length` elements, all of which must be written.")
      .def(
          "erase", [](const self& x, std::string_view name) { x.get().erase(name); }, "name"_a,
          "Removes a field; does nothing if there is none.")
      .def(
          "to_dict", [](const self& x) { return fields_of(x.get()); },
          nb::sig("def to_dict(self) -> dict[str, typing.Any]"), "All fields; arrays are copies.")
      .def("__repr__", [](const self& x) {
        if (!x.at)
          return std::string{"<leat.Sample that was given back>"};
        return "<leat.Sample " + x.at->id() + ": " + listed(x.at->fields()) + ">";
      });

  using place = lent_context;
  nb::class_<place>(m, "Context", "What a function may know about its row.")
      .def_prop_ro(
          "epoch", [](const place& x) { return x.get().epoch(); }, "The epoch of the row.")
      .def_prop_ro(
          "position", [](const place& x) { return x.get().position(); },
          "Number of the row in the epoch. Raises leat.Error in a map whose samples a later "
          "operator looks at (a filter, say), where no row is known yet: see `has_row`, and "
          "`enumerate`.")
      .def_prop_ro(
          "has_row", [](const place& x) { return x.get().has_row(); },
          "False where a later operator looks at the samples, so that `position` is not known.")
      .def_prop_ro(
          "lane", [](const place& x) { return x.get().lane(); }, "The lane of the sample.")
      .def_prop_ro(
          "lanes", [](const place& x) { return x.get().lanes(); }, "How many lanes there are.")
      .def_prop_ro(
          "cancelled", [](const place& x) { return x.get().cancelled(); },
          "True once the loader is being destroyed: a long function should return.")
      .def(
          "bits64", [](const place& x) { return x.get().rng().bits64(); },
          "The next 64 random bits of this sample in this stage: the same on any worker, rank, "
          "retry and resume.")
      .def(
          "uniform",
          [](const place& x, double low, double high) { return x.get().rng().uniform(low, high); },
          "low"_a = 0.0, "high"_a = 1.0, "Uniform in [low, high).")
      .def(
          "below",
          [](const place& x, std::uint64_t n) {
            if (n == 0)
              refuse_argument("context.below", "0", "at least 1");
            return x.get().rng().below(n);
          },
          "n"_a, "Uniform in 0 .. n-1.")
      .def(
          "coin", [](const place& x, double p) { return x.get().rng().coin(p); }, "p"_a,
          "True with probability p.")
      .def(
          "normal", [](const place& x) { return x.get().rng().normal(); }, "Standard normal.")
      .def(
          "numpy",
          [](const place& x) {
            const auto random = nb::module_::import_("numpy").attr("random");
            auto& bits = x.get().rng();
            const auto low = bits.bits64();
            const auto high = bits.bits64();
            return random.attr("Generator")(
                random.attr("Philox")("key"_a = nb::make_tuple(low, high)));
          },
          nb::sig("def numpy(self) -> numpy.random.Generator"),
          "A generator of NumPy's, seeded by the next 128 random bits.")
      .def(
          "torch",
          [](const place& x) {
            auto made = nb::module_::import_("torch").attr("Generator")();
            made.attr("manual_seed")(x.get().rng().bits64() >> 1);
            return made;
          },
          nb::sig("def torch(self) -> typing.Any"),
          "A generator of torch's, seeded by the next random bits.");
}

} // namespace leat::python
