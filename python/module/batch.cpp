#include "python/module/batch.hpp"

#include <leat/batch.hpp>

#include "python/module/convert/arrays.hpp"
#include "python/module/convert/bytes.hpp"
#include "python/module/convert/casters.hpp"
#include "python/module/device_array.hpp"
#include "python/module/errors.hpp"
#include "python/module/module.hpp"

#include <string>
#include <utility>

namespace leat::python {

namespace {

std::span<const std::int64_t> shape_of(const field_view& x) {
  return {x.shape.data(), x.rank};
}

lent_memory memory_of(const field_view& x, nb::handle owner) {
  return {x.data, x.type, shape_of(x), owner, x.is_ragged()};
}

nb::object ragged_of(const field_view& x, nb::handle owner) {
  return nb::module_::import_("leat.ragged_rows")
      .attr("Ragged")(as_numpy(memory_of(x, owner)), offsets_as_numpy(x.offsets, owner));
}

nb::object value_of(const batch_value& x, std::string_view name) {
  const auto view = x.get().field(name);
  const auto owner = x.owner();
  return view.is_ragged() ? ragged_of(view, owner) : as_numpy(memory_of(view, owner));
}

/// What a field is, wherever its values are.
field_view form_of(const batch& x, std::string_view name) {
  return x.is_on_device(name) ? x.device_field(name).values : x.field(name);
}

bool has_field(const batch_value& x, std::string_view name) {
  const auto all = x.get().fields();
  return std::find(all.begin(), all.end(), name) != all.end();
}

template <class Convert>
nb::list rows_of(const batch_value& x, std::string_view name, Convert convert) {
  const auto rows = x.get().ragged(name);
  nb::list result;
  for (std::size_t i = 0; i < rows.size(); ++i)
    result.append(convert(rows.text(i)));
  return result;
}

std::string summary(const batch_value& x) {
  if (x.is_released())
    return "<leat.Batch that was released>";
  const auto& of = x.get();
  std::string fields;
  for (const auto& name : of.fields()) {
    const auto view = form_of(of, name);
    fields += (fields.empty() ? "" : ", ") + name + " " + std::string{to_string(view.type)} + "[";
    for (std::size_t i = 0; i < view.rank; ++i)
      fields += (i > 0 ? ", " : "") + std::to_string(view.shape[i]);
    fields += view.is_ragged() ? "] ragged" : "]";
  }
  return "<leat.Batch epoch " + std::to_string(of.epoch()) + " step " + std::to_string(of.step())
         + ", " + std::to_string(of.valid_rows()) + " of " + std::to_string(of.size())
         + " rows valid: " + fields + ">";
}

void bind_fields(nb::class_<batch_value>& type) {
  type.def(
          "__getitem__",
          [](const batch_value& x, std::string_view name) { return value_of(x, name); },
          nb::sig("def __getitem__(self, name: str, /) -> numpy.ndarray | leat.ragged_rows.Ragged"),
          "A field as a NumPy array over the batch's memory, [size, ...]; a Ragged where rows have "
          "different lengths. The array keeps the batch.")
      .def(
          "dlpack",
          [](const batch_value& x, std::string_view name) -> nb::object {
            if (x.get().is_on_device(name)) {
              auto found = on_device(x.held(), name);
              return form_of(x.get(), name).is_ragged() ? found.attr("values") : found;
            }
            const auto view = x.get().field(name);
            return as_dlpack(memory_of(view, x.owner()));
          },
          "name"_a, nb::sig("def dlpack(self, name: str) -> typing.Any"),
          "The same memory, for torch.from_dlpack, jax.numpy.from_dlpack and others, or that of "
          "the loader's device, where the field is there; of a ragged field its values.")
      .def(
          "on_device",
          [](const batch_value& x, std::string_view name) { return on_device(x.held(), name); },
          "name"_a,
          nb::sig("def on_device(self, name: str) -> DeviceArray | leat.ragged_rows.Ragged"),
          "A field in the memory of the loader's device: a DeviceArray, or a Ragged of two. Raises "
          "WrongField for one that is not there.")
      .def(
          "is_on_device",
          [](const batch_value& x, std::string_view name) { return x.get().is_on_device(name); },
          "name"_a, "Whether a field is in the memory of the loader's device, too.")
      .def(
          "used_on",
          [](const batch_value& x, nb::handle stream) {
            const auto kept = x.held(); // another thread may release x
            used_on(*kept, stream);
          },
          "stream"_a.none(), nb::sig("def used_on(self, stream: typing.Any) -> None"),
          "Counts a further stream of the device as one that uses the batch: a handle, or an "
          "object of torch or CuPy. Let it wait for the stream that imported the arrays.")
      .def(
          "offsets",
          [](const batch_value& x, std::string_view name) {
            const auto view = form_of(x.get(), name);
            if (!view.is_ragged())
              throw error(errc::wrong_field, {.stage = "batch",
                                              .got = "the dense field " + std::string{name},
                                              .needed = "a ragged field"});
            return offsets_as_numpy(view.offsets, x.owner());
          },
          "name"_a, nb::sig("def offsets(self, name: str) -> numpy.ndarray"),
          "Where the rows of a ragged field begin, int64 [size + 1].")
      .def(
          "field",
          [](const batch_value& x, std::string_view name) {
            const auto view = form_of(x.get(), name);
            nb::dict result;
            result["dtype"] = view.type;
            nb::list shape;
            for (const auto extent : shape_of(view))
              shape.append(extent);
            result["shape"] = nb::tuple(shape);
            result["is_ragged"] = view.is_ragged();
            return result;
          },
          "name"_a, nb::sig("def field(self, name: str) -> dict[str, typing.Any]"),
          "What a field is, without its values: dtype, shape, is_ragged.")
      .def(
          "bytes",
          [](const batch_value& x, std::string_view name) { return rows_of(x, name, to_bytes); },
          "name"_a, nb::sig("def bytes(self, name: str) -> list[leat._names.Bytes]"),
          "A bytes field as a list, one value per row.")
      .def(
          "text",
          [](const batch_value& x, std::string_view name) { return rows_of(x, name, as_text); },
          "name"_a, nb::sig("def text(self, name: str) -> list[str]"),
          "A bytes field as a list of str, which must be UTF-8.")
      .def(
          "fields", [](const batch_value& x) { return x.get().fields(); },
          "Names of all fields, sorted.")
      .def(
          "keys", [](const batch_value& x) { return x.get().fields(); }, "As fields().")
      .def(
          "values",
          [](const batch_value& x) {
            nb::list result;
            for (const auto& name : x.get().fields())
              result.append(value_of(x, name));
            return result;
          },
          nb::sig("def values(self) -> list[numpy.ndarray | leat.ragged_rows.Ragged]"),
          "All fields, in the order of their names.")
      .def(
          "items",
          [](const batch_value& x) {
            nb::list result;
            for (const auto& name : x.get().fields())
              result.append(nb::make_tuple(name, value_of(x, name)));
            return result;
          },
          nb::sig("def items(self) -> list[tuple[str, numpy.ndarray | leat.ragged_rows.Ragged]]"),
          "(name, field) of all fields, in the order of their names.")
      .def(
          "get",
          [](const batch_value& x, std::string_view name, nb::object otherwise) {
            return has_field(x, name) ? value_of(x, name) : otherwise;
          },
          "name"_a, "default"_a = nb::none(),
          nb::sig("def get(self, name: str, default: typing.Any = None) -> typing.Any"),
          "A field, or `default` if the batch does not have it.")
      .def(
          "__iter__", [](const batch_value& x) { return nb::iter(nb::cast(x.get().fields())); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def("__len__", [](const batch_value& x) { return x.get().fields().size(); })
      .def("__contains__", &has_field);
}

} // namespace

const batch& batch_value::get() const {
  return **held();
}

const std::shared_ptr<lease>& batch_value::held() const {
  if (!lease_)
    throw error(
        errc::invalid_argument,
        {.stage = "batch", .got = "a use after release()", .needed = "a batch that is still held"});
  return lease_;
}

nb::object batch_value::owner() const {
  auto kept = std::make_unique<std::shared_ptr<lease>>(lease_);
  nb::capsule result{kept.get(),
                     [](void* x) noexcept { delete static_cast<std::shared_ptr<lease>*>(x); }};
  (void)kept.release();
  return result;
}

void bind_batch(nb::module_& m) {
  nb::class_<hash128>(m, "Hash128", "A 128-bit hash, or a sum of such hashes modulo 2^128.")
      .def(nb::init<>(), "Of 32 hexadecimal digits; without them 0.")
      .def(
          "__init__",
          [](hash128* to, const std::string& text) {
            const auto found = parse_hash128(text);
            if (!found)
              throw error(errc::invalid_argument,
                          {.stage = "hash", .got = text, .needed = "32 hexadecimal digits"});
            new (to) hash128(*found);
          },
          "text"_a, "Of 32 hexadecimal digits; without them 0.")
      .def_ro("low", &hash128::low, "The lower 64 bits.")
      .def_ro("high", &hash128::high, "The upper 64 bits.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const hash128& x) { return static_cast<Py_ssize_t>(x.low >> 1); })
      .def(
          "__add__", [](const hash128& a, const hash128& b) { return a + b; }, "other"_a)
      .def("__str__", [](const hash128& x) { return to_string(x); })
      .def("__repr__", [](const hash128& x) { return "Hash128('" + to_string(x) + "')"; });

  nb::class_<batch_value> type{
      m, "Batch", nb::is_weak_referenceable(),
      "This rank's part of one global batch, a mapping of fields. Its memory is "
      "used again once the batch and all arrays over it are gone."};
  bind_fields(type);
  type.def_prop_ro(
          "size", [](const batch_value& x) { return x.get().size(); },
          "Rows, also invalid ones: ceil(G / world_size) in every batch.")
      .def_prop_ro(
          "valid_rows", [](const batch_value& x) { return x.get().valid_rows(); },
          "Rows that carry a sample.")
      .def_prop_ro(
          "valid",
          [](const batch_value& x) {
            const auto valid = x.get().valid();
            const auto rows = static_cast<std::int64_t>(valid.size());
            return as_numpy({valid.data(), dtype::u8, {&rows, 1}, x.owner(), true})
                .attr("view")("bool");
          },
          nb::sig("def valid(self) -> numpy.ndarray"),
          "True for each row that carries a sample, bool [size].")
      .def_prop_ro(
          "epoch", [](const batch_value& x) { return x.get().epoch(); }, "Its epoch.")
      .def_prop_ro(
          "step", [](const batch_value& x) { return x.get().step(); },
          "Number of the batch in its epoch.")
      .def_prop_ro(
          "global_step", [](const batch_value& x) { return x.get().global_step(); },
          "Number of the batch since the job began; continues across resumes.")
      .def_prop_ro(
          "end_of_epoch", [](const batch_value& x) { return x.get().end_of_epoch(); },
          "No further batch of this epoch follows.")
      .def_prop_ro(
          "rank", [](const batch_value& x) { return x.get().rank(); }, "The rank whose part it is.")
      .def_prop_ro(
          "world_size", [](const batch_value& x) { return x.get().world_size(); },
          "Ranks that share the global batch.")
      .def(
          "positions", [](const batch_value& x) { return x.get().positions(); },
          "Position of each valid row in the epoch, rising.")
      .def(
          "ids", [](const batch_value& x) { return x.get().ids(); },
          "Id of each valid row's sample.")
      .def(
          "digest", [](const batch_value& x) { return x.get().digest(); },
          "Sum over the valid rows. Ranks' digests add up to the global batch's.")
      .def(
          "content_hashes", [](const batch_value& x) { return x.get().content_hashes(); },
          "Hash of each valid row's fields. Empty unless the loader has hash_pixels.")
      .def(
          "bad", [](const batch_value& x) { return x.get().bad(); },
          "Rows whose sample was bad, under the policies substitute and mask.")
      .def(
          "snapshot", [](const batch_value& x) { return to_bytes(x.get().snapshot()); },
          nb::sig("def snapshot(self) -> leat._names.Bytes"),
          "\"Resume after this batch\", for your own checkpoint: this rank's part.")
      .def("release", &batch_value::release,
           "Gives the memory back early: once all arrays over it are gone, too.")
      .def(
          "show",
          [](nb::handle x, const std::string& field, std::size_t columns) {
            return nb::module_::import_("leat.display").attr("show")(x, field, columns);
          },
          "field"_a = "", "columns"_a = 8,
          nb::sig("def show(self, field: str = '', columns: int = 8) -> typing.Any"),
          "A grid of the images in a field, by Pillow or matplotlib.")
      .def(
          "_repr_html_",
          [](nb::handle x) { return nb::module_::import_("leat.display").attr("batch_html")(x); },
          nb::sig("def _repr_html_(self) -> str"))
      .def("__repr__", &summary);

  nb::class_<bad_row>(m, "BadRow", "One bad sample, as logs list it.")
      .def_ro("position", &bad_row::position, "Position of the row in the epoch.")
      .def_ro("id", &bad_row::id, "Id of the bad sample.")
      .def_ro("why", &bad_row::why, "The cause: \"corrupt\", \"missing_field\", ...")
      .def_prop_ro(
          "text", [](const bad_row& x) { return as_message(x.text); }, "What was wrong.")
      .def_ro("substitute", &bad_row::substitute,
              "Id of the sample that took its row; None if the row was masked.")
      .def("__repr__", [](const bad_row& x) {
        return as_message("<leat.BadRow " + std::to_string(x.position) + " " + x.id + ": "
                          + std::string{to_string(x.why)} + ", " + x.text + ">");
      });
}

} // namespace leat::python
