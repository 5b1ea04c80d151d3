#include "runtime/pipeline_registry.hpp"

#include "runtime/exception_text.hpp"
#include "runtime/map_parameters.hpp"
#include "runtime/parse_dtype.hpp"
#include "runtime/pipeline_lexer.hpp"

#include <leat/image.hpp>
#include <leat/sources.hpp>

#include <map>
#include <mutex>
#include <utility>

namespace leat {

namespace {

using map_maker = std::function<map_stage(const std::string& parameters)>;

/// What a process knows by name. Any thread.
template <class T>
class name_table {
public:
  name_table() = default;
  explicit name_table(std::map<std::string, T> known) : known_(std::move(known)) {}

  void set(std::string name, T x) {
    std::lock_guard lock{mutex_};
    known_.insert_or_assign(std::move(name), std::move(x));
  }

  /// `kind` says in the error what was looked for.
  T get(const std::string& name, const std::string& kind) const {
    std::lock_guard lock{mutex_};
    if (const auto found = known_.find(name); found != known_.end())
      return found->second;
    throw error(
        errc::invalid_argument,
        {.stage = kind, .got = excerpt(name) + ", which is not registered", .needed = names()});
  }

private:
  std::string names() const {
    std::string text;
    for (const auto& [name, x] : known_)
      text += (text.empty() ? "one of " : ", ") + name;
    return text.empty() ? "a registration before parsing" : text;
  }

  mutable std::mutex mutex_;
  std::map<std::string, T> known_;
};

image_layout layout_of(const std::string& text, const parameter_reader& from) {
  if (text != "nchw" && text != "nhwc")
    from.refuse("layout=" + text, "nchw or nhwc");
  return text == "nchw" ? image_layout::nchw : image_layout::nhwc;
}

/// The options that both image maps have.
image_options common_options(parameter_reader& from, const std::string& map) {
  image_options x;
  from.read("size", x.size);
  if (const auto type = from.optional("type"))
    x.type = parse_dtype(*type, map);
  if (const auto layout = from.optional("layout"))
    x.layout = layout_of(*layout, from);
  from.read("mean", x.mean);
  from.read("deviation", x.deviation);
  from.read("max_pixels", x.max_pixels);
  return x;
}

map_stage make_train_image(const std::string& parameters) {
  constexpr auto map = "train_image@1";
  parameter_reader from{map, parameters};
  auto field = from.required("field");
  auto options = common_options(from, map);
  from.read("scale", options.scale);
  from.read("ratio", options.ratio);
  from.read("flip", options.flip);
  from.done();
  return train_image(std::move(field), options);
}

map_stage make_eval_image(const std::string& parameters) {
  constexpr auto map = "eval_image@1";
  parameter_reader from{map, parameters};
  auto field = from.required("field");
  auto options = common_options(from, map);
  from.read("resize", options.resize);
  from.done();
  return eval_image(std::move(field), options);
}

map_stage make_int_label(const std::string& parameters) {
  parameter_reader from{"int_label@1", parameters};
  const auto field = from.required("field");
  from.done();
  return int_label(field);
}

map_stage make_select(const std::string& parameters) {
  parameter_reader from{"select@1", parameters};
  const auto fields = from.required("fields");
  from.done();
  return select(split_list(fields));
}

map_stage make_rename(const std::string& parameters) {
  parameter_reader from{"rename@1", parameters};
  auto old_name = from.required("from");
  auto new_name = from.required("to");
  from.done();
  return rename(std::move(old_name), std::move(new_name));
}

name_table<map_maker>& maps() {
  static name_table<map_maker> table{{{"train_image@1", make_train_image},
                                      {"eval_image@1", make_eval_image},
                                      {"int_label@1", make_int_label},
                                      {"select@1", make_select},
                                      {"rename@1", make_rename}}};
  return table;
}

name_table<std::shared_ptr<const source>>& sources() {
  static name_table<std::shared_ptr<const source>> table;
  return table;
}

map_stage call(const map_maker& make, const std::string& name, const std::string& parameters) {
  try {
    return make(parameters);
  } catch (const error&) {
    throw;
  } catch (...) {
    throw error(errc::invalid_argument, {.stage = name, .got = exception_text()});
  }
}

} // namespace

void register_map(std::string name, map_maker make) {
  if (name.empty() || !make)
    throw error(errc::invalid_argument, {.stage = "register_map",
                                         .got = make ? "no name" : "no function",
                                         .needed = "a name (\"label@1\") and a function"});
  maps().set(std::move(name), std::move(make));
}

void register_source(std::string name, std::shared_ptr<const source> data) {
  if (name.empty() || !data)
    throw error(errc::invalid_argument, {.stage = "register_source",
                                         .got = data ? "no name" : "no data",
                                         .needed = "a name (\"cifar@1\") and data"});
  sources().set(std::move(name), std::move(data));
}

map_stage make_map(const std::string& name, const std::string& parameters) {
  auto map = call(maps().get(name, "map"), name, parameters);
  if (map.name != name)
    throw error(errc::invalid_argument,
                {.stage = name, .got = "a map named " + excerpt(map.name), .needed = name});
  if (map.parameters.empty())
    map.parameters = parameters;
  return map;
}

std::shared_ptr<const source> registered_source(const std::string& name) {
  return sources().get(name, "indexed");
}

} // namespace leat
