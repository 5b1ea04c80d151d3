#include "python/module/stages.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/bad_sample.hpp>
#include <leat/pipeline_facts.hpp>

#include "python/module/convert/bytes.hpp"
#include "python/module/convert/values.hpp"
#include "python/module/errors.hpp"
#include "python/module/processes/process_pool.hpp"
#include "python/module/results.hpp"
#include "python/module/sample.hpp"

#include <memory>
#include <string>
#include <utility>

namespace leat::python {

namespace {

/// Calls Python for a job, in any thread: what it raises becomes an exception that leat handles.
template <class Call>
auto for_job(Call call, gil_held::keeps kept = gil_held::keeps::state) {
  const gil_held held{kept};
  try {
    return call();
  } catch (nb::python_error& problem) {
    throw_for_job(problem);
  } catch (const nb::builtin_exception& problem) {
    throw bad_sample(cause::function_error, problem.what());
  } catch (const nb::cast_error&) {
    throw bad_sample(cause::function_error, "a function gave a value of a wrong type");
  }
}

std::shared_ptr<sample_lender> new_lender() {
  const gil_held held;
  return dropped_with_gil(std::make_unique<sample_lender>());
}

/// How many positional arguments the function takes, at most `most`.
std::size_t num_arguments(nb::handle function, std::size_t most) {
  return nb::cast<std::size_t>(
      nb::module_::import_("leat.errors").attr("num_arguments")(function, most));
}

/// A function of one sample, for one worker.
map_function map_of(nb::handle function) {
  const bool takes_context = num_arguments(function, 2) == 2;
  return [function, takes_context, lender = new_lender()](sample& x, context& in) {
    for_job([&] {
      lender->lend(x, &in, [&](const nb::object& lent, const nb::object& place) {
        take_result(x, lent, takes_context ? function(lent, place) : function(lent));
      });
    });
  };
}

/// Lends several samples at once. All members require the GIL.
class lender_of_many {
public:
  void call(nb::handle function, bool takes_contexts, std::span<sample* const> samples,
            std::span<context> in) {
    if (lenders_.size() < samples.size())
      lenders_.resize(samples.size());
    try {
      begin(samples, in);
      call(function, takes_contexts, samples);
      for (std::size_t i = 0; i < samples.size(); ++i)
        lenders_[i].end();
    } catch (...) {
      for (std::size_t i = 0; i < samples.size(); ++i)
        lenders_[i].abandon();
      throw;
    }
  }

private:
  void begin(std::span<sample* const> samples, std::span<context> in) {
    for (std::size_t i = 0; i < samples.size(); ++i)
      lenders_[i].begin(*samples[i], &in[i]);
  }
  void call(nb::handle function, bool takes_contexts, std::span<sample* const> samples) {
    nb::list lent;
    nb::list places;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      lent.append(lenders_[i].lent());
      if (takes_contexts)
        places.append(lenders_[i].place());
    }
    const nb::object result = takes_contexts ? function(lent, places) : function(lent);
    for (std::size_t i = 0; i < num_results(lent, result); ++i)
      take_result(*samples[i], lenders_[i].lent(), nb::object(result[i]));
  }

  std::vector<sample_lender> lenders_;
};

/// A function of a list of samples, for one worker.
map_together_function map_together_of(nb::handle function) {
  const gil_held held;
  const bool takes_contexts = num_arguments(function, 2) == 2;
  return [function, takes_contexts, lender = dropped_with_gil(std::make_unique<lender_of_many>())](
             std::span<sample* const> samples, std::span<context> in) {
    for_job([&] { lender->call(function, takes_contexts, samples, in); });
  };
}

/// Makes each worker's function from the given one or, with `per_worker`, from what the given
/// factory returns.
template <class Function>
std::function<Function()> made_by(nb::handle function, bool per_worker,
                                  std::shared_ptr<made_objects> made, Function (*of)(nb::handle)) {
  return [=]() -> Function {
    const gil_held held;
    try {
      if (!per_worker)
        return of(function);
      const auto own = made_objects::keep(made, function());
      return [own, call = of(*own)](auto&&... x) { call(x...); };
    } catch (nb::python_error& problem) {
      throw_for_job(problem);
    }
  };
}

/// A function of a sample, for filters, flat_maps and scans.
template <class Result, class Convert>
std::function<Result(sample&)> of_sample(nb::handle function, Convert convert) {
  return [function, convert, lender = new_lender()](sample& x) {
    return for_job([&] {
      return lender->lend(x, nullptr, [&](const nb::object& lent, const nb::object&) {
        return convert(function(lent));
      });
    });
  };
}

flat_map_value make_flat_map(std::string name, nb::object count, nb::object pick,
                             std::string parameters, std::optional<std::uint64_t> children,
                             std::size_t processes) {
  flat_map_value result;
  const nb::handle counts = result.kept.add(std::move(count));
  const nb::handle picks = result.kept.add(std::move(pick));
  keep_part(result.kept, "flat_map", name, parameters, nb::make_tuple(counts, picks),
            dict_with("children"_a = children, "processes"_a = processes));
  result.value = {std::move(name), std::move(parameters), {}, children};
  if (processes > 0) {
    result.value.make =
        flat_map_in(pool_of(result.kept, result.value.name, processes,
                            recipe_type()(nb::type<flat_map_value>(), result.value.name, counts,
                                          picks, "children"_a = children)));
    return result;
  }
  result.value.make = [counts, picks, children] {
    flat_map_function made;
    made.count = counts.is_none()
                     ? std::function<std::uint64_t(sample&)>{[n = children.value_or(0)](sample&) {
                         return n;
                       }}
                     : of_sample<std::uint64_t>(counts, count_in);
    made.pick = [picks, lender = new_lender()](sample& x, std::uint64_t child) {
      for_job([&] {
        lender->lend(x, nullptr, [&](const nb::object& lent, const nb::object&) {
          take_result(x, lent, picks(lent, child));
        });
      });
    };
    return made;
  };
  return result;
}

scan_value make_scan(std::string name, nb::object look, nb::object step, nb::object apply,
                     const nb::object& initial, std::string parameters, std::size_t processes) {
  scan_value result;
  const nb::handle looks = result.kept.add(std::move(look));
  const nb::handle steps = result.kept.add(std::move(step));
  const nb::handle applies = result.kept.add(std::move(apply));
  keep_part(result.kept, "scan", name, parameters, nb::tuple(),
            dict_with("look"_a = looks, "step"_a = steps, "apply"_a = applies,
                      "initial"_a = initial, "processes"_a = processes));
  if (!PyBytes_Check(initial.ptr()) && !PyUnicode_Check(initial.ptr()))
    throw nb::type_error("initial is the state before the first sample: bytes, or a str");
  result.value = {std::move(name), std::move(parameters), {}, bytes_from(initial), {}};
  if (processes > 0)
    result.value.make =
        scan_in(pool_of(result.kept, result.value.name, processes,
                        recipe_type()(nb::type<scan_value>(), result.value.name, "look"_a = looks,
                                      "step"_a = steps, "apply"_a = applies)));
  else
    result.value.make = [looks, applies] {
      scan_function made;
      made.look = of_sample<std::string>(looks, bytes_from);
      made.apply = [applies, lender = new_lender()](sample& x, std::string_view found) {
        for_job([&] {
          lender->lend(x, nullptr, [&](const nb::object& lent, const nb::object&) {
            take_result(x, lent, applies(lent, to_bytes(found)));
          });
        });
      };
      return made;
    };
  result.value.step = [steps](std::string& state, std::string_view looked) {
    return for_job([&] {
      const nb::object both = steps(to_bytes(state), to_bytes(looked));
      auto next = bytes_from(both[0]);
      auto found = bytes_from(both[1]);
      state = std::move(next);
      return found;
    });
  };
  return result;
}

/// A unit of a sequential source: an iterator of dicts, or an object with next(sample).
class python_reader final : public sequential_reader {
public:
  python_reader(nb::object from, const std::shared_ptr<made_objects>& among)
      : lender_(dropped_with_gil(std::make_unique<sample_lender>())),
        has_next_(nb::hasattr(from, "next")), has_save_(nb::hasattr(from, "save")),
        from_(made_objects::keep(among, has_next_ ? std::move(from) : iterator_over(from))) {}

  bool next(sample& into) override {
    return for_job([&] {
      if (has_next_)
        return lender_->lend(into, nullptr, [&](const nb::object& lent, const nb::object&) {
          return is_true(from_->attr("next")(lent));
        });
      auto item = nb::steal(PyIter_Next(from_->ptr()));
      if (!item.is_valid() && PyErr_Occurred())
        throw nb::python_error();
      if (item.is_valid())
        set_fields(into, item);
      return item.is_valid();
    });
  }
  std::optional<std::string> save() const override {
    if (!has_save_)
      return std::nullopt;
    return for_job([&] { return bytes_from(nb::object(from_->attr("save")())); });
  }
  void load(const std::string& state) override {
    for_job([&] { from_->attr("load")(to_bytes(state)); });
  }

private:
  static nb::object iterator_over(const nb::object& from) {
    if (!nb::hasattr(from, "__iter__") && !nb::hasattr(from, "__getitem__"))
      throw nb::type_error(("open(unit) gave a " + name_of_type(from)
                            + "; needed: an iterator of dicts, or an object with next(sample)")
                               .c_str());
    return nb::iter(from);
  }

  std::shared_ptr<sample_lender> lender_;
  bool has_next_;
  bool has_save_;
  std::shared_ptr<nb::handle> from_;
};

template <class T>
nb::class_<T> bind_stage(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<T>(m, name, nb::type_slots(garbage_slots<T>), doc)
      .def_prop_ro(
          "name", [](const T& x) { return x.value.name; }, "\"name@version\", its identity.")
      .def_prop_ro(
          "parameters", [](const T& x) { return x.value.parameters; },
          "What tells it from others of its name, as text.")
      .def("__repr__", [](const T& x) {
        return x.value.name + (x.value.parameters.empty() ? "" : "(" + x.value.parameters + ")");
      });
}

} // namespace

void keep_part(kept_objects& in, const char* kind, const std::string& name,
               const std::string& parameters, const nb::tuple& arguments, const nb::dict& options) {
  in.add(nb::module_::import_("leat._pickling")
             .attr("Part")(kind, name, parameters, arguments, options));
}

map_value make_map(std::string name, nb::object function, std::string parameters, bool per_worker,
                   bool batched, std::size_t processes) {
  map_value result;
  const nb::handle borrowed = result.kept.add(std::move(function));
  keep_part(
      result.kept, "map", name, parameters, nb::make_tuple(borrowed),
      dict_with("per_worker"_a = per_worker, "batched"_a = batched, "processes"_a = processes));
  result.value = {std::move(name), std::move(parameters), {}, {}};
  if (processes > 0) {
    result.value.make_together =
        map_in(pool_of(result.kept, result.value.name, processes,
                       recipe_type()(nb::type<map_value>(), result.value.name, borrowed,
                                     "parameters"_a = result.value.parameters,
                                     "per_worker"_a = per_worker, "batched"_a = batched)));
    result.value.make_isolated =
        [name = result.value.name]() -> std::function<map_together_function()> {
      refuse_argument(name, "both processes and isolate", "one of them");
    };
    return result;
  }
  const auto made = made_objects::shown_by(result.kept);
  result.value.make_isolated = [=, name = result.value.name, parameters = result.value.parameters] {
    const gil_held held;
    return isolated_in(name,
                       made_objects::keep(made, recipe_type()(nb::type<map_value>(), name, borrowed,
                                                              "parameters"_a = parameters,
                                                              "per_worker"_a = per_worker,
                                                              "batched"_a = batched)));
  };
  if (batched)
    result.value.make_together = made_by(borrowed, per_worker, made, &map_together_of);
  else
    result.value.make = made_by(borrowed, per_worker, made, &map_of);
  return result;
}

filter_value make_filter(std::string name, nb::object keeps, std::string parameters, bool of_id,
                         std::size_t processes) {
  filter_value result;
  const nb::handle f = result.kept.add(std::move(keeps));
  keep_part(result.kept, "filter", name, parameters, nb::make_tuple(f),
            dict_with("of_id"_a = of_id, "processes"_a = processes));
  result.value = {std::move(name), std::move(parameters), {}, {}};
  if (of_id && processes > 0)
    refuse_argument(result.value.name, "both of_id and processes",
                    "one of them: ids are judged where the order is made");
  if (of_id)
    result.value.of_id = [f](std::string_view id) {
      return for_job([&] { return is_kept(f(nb::str(id.data(), id.size()))); });
    };
  else if (processes > 0)
    result.value.make =
        filter_in(pool_of(result.kept, result.value.name, processes,
                          recipe_type()(nb::type<filter_value>(), result.value.name, f)));
  else
    result.value.make = [f] { return of_sample<bool>(f, is_kept); };
  return result;
}

/// The thread that reads a source that exists once ends with the last pipeline that has it, and
/// asks for the GIL before.
void drop(pipeline& x) noexcept try {
  if (!is_once(x))
    return;
  auto last = std::make_unique<pipeline>(std::move(x));
  if (python_calls_ended()) {
    (void)last.release(); // the thread would never get the GIL
    return;
  }
  const nb::gil_scoped_release released;
  last = nullptr;
} catch (...) { // no memory
}

std::function<void(std::uint64_t, sample&)> reader_of(nb::handle function) {
  const bool sets = num_arguments(function, 2) == 2;
  return [function, sets](std::uint64_t record, sample& into) {
    for_job([&] {
      if (!sets)
        return set_fields(into, nb::object(function(record)));
      sample_lender lender;
      lender.lend(into, nullptr, [&](const nb::object& lent, const nb::object&) {
        take_result(into, lent, function(record, lent));
      });
    });
  };
}

std::function<bool(sample&)> once_reader_of(nb::handle function) {
  return [function](sample& into) {
    const auto call = [&] {
      sample_lender lender;
      return lender.lend(into, nullptr, [&](const nb::object& lent, const nb::object&) {
        return is_true(function(lent));
      });
    };
    return for_job(call, gil_held::keeps::idle_state); // it waits until more is wanted
  };
}

std::function<std::unique_ptr<sequential_reader>(std::uint64_t)>
opener_of(nb::handle function, const std::shared_ptr<made_objects>& made) {
  return [function, made](std::uint64_t unit) -> std::unique_ptr<sequential_reader> {
    return for_job([&] { return std::make_unique<python_reader>(function(unit), made); });
  };
}

void bind_stages(nb::module_& m) {
  bind_stage<map_value>(m, "MapStage", "What a map does to one sample: pipeline.map(stage).")
      .def(
          "__init__",
          [](map_value* to, std::string name, nb::callable function, std::string parameters,
             bool per_worker, bool batched, std::size_t processes) {
            new (to) map_value(make_map(std::move(name), std::move(function), std::move(parameters),
                                        per_worker, batched, processes));
          },
          "name"_a, "function"_a, nb::kw_only(), "parameters"_a = "", "per_worker"_a = false,
          "batched"_a = false, "processes"_a = 0,
          nb::sig("def __init__(self, name: str, function: collections.abc.Callable[..., "
                  "typing.Any], *, parameters: str = '', per_worker: bool = False, batched: bool = "
                  "False, processes: int = 0) -> None"),
          "`function(sample)` or `function(sample, context)`. `name` is \"name@version\": change "
          "the version when the function's meaning changes. `per_worker`: `function()` is called "
          "once for each worker and returns its function. `batched`: the function takes lists of "
          "up to 64 samples and contexts; what it makes of a sample must not depend on the others. "
          "If it raises, it is called again for each of them alone, made anew. `processes`: it "
          "runs in as many processes, which import it by its name; 0: in leat's threads.")
      .def_prop_ro(
          "function", [](const map_value& x) { return x.kept.first(); },
          "The function; None if the map is leat's own.")
      .def_prop_rw(
          "note", [](const map_value& x) { return x.value.note; },
          [](map_value& x, std::string note) { x.value.note = std::move(note); }, "value"_a,
          "What graph_of says of it besides its name. Results do not depend on it.");
  bind_stage<filter_value>(m, "FilterStage", "What a filter keeps: pipeline.filter(stage).")
      .def(
          "__init__",
          [](filter_value* to, std::string name, nb::callable function, std::string parameters,
             bool of_id, std::size_t processes) {
            new (to) filter_value(make_filter(std::move(name), std::move(function),
                                              std::move(parameters), of_id, processes));
          },
          "name"_a, "function"_a, nb::kw_only(), "parameters"_a = "", "of_id"_a = false,
          "processes"_a = 0,
          nb::sig("def __init__(self, name: str, function: collections.abc.Callable[[typing.Any], "
                  "typing.Any], *, parameters: str = '', of_id: bool = False, processes: int = 0) "
                  "-> None"),
          "`function(sample)` is true for samples to keep. `of_id`: it judges just the id, a str, "
          "without reading the sample. `processes`: as in MapStage.")
      .def_prop_ro(
          "function", [](const filter_value& x) { return x.kept.first(); },
          "The function; None if the filter is leat's own.");
  bind_stage<flat_map_value>(m, "FlatMapStage",
                             "What a flat_map makes of a sample: pipeline.flat_map(stage).")
      .def(
          "__init__",
          [](flat_map_value* to, std::string name, nb::object count, nb::callable pick,
             std::string parameters, std::optional<std::uint64_t> children, std::size_t processes) {
            new (to)
                flat_map_value(make_flat_map(std::move(name), std::move(count), std::move(pick),
                                             std::move(parameters), children, processes));
          },
          "name"_a, "count"_a.none(), "pick"_a, nb::kw_only(), "parameters"_a = "",
          "children"_a = nb::none(), "processes"_a = 0,
          nb::sig("def __init__(self, name: str, count: collections.abc.Callable[[Sample], int] | "
                  "None, pick: collections.abc.Callable[[Sample, int], typing.Any], *, parameters: "
                  "str = '', children: int | None = None, processes: int = 0) -> None"),
          "`count(sample)` is its number of children; `pick(sample, child)` turns it into one. "
          "`children`: every sample has this many, whatever its content (`count` may be None). "
          "`processes`: as in MapStage.");
  bind_stage<scan_value>(m, "ScanStage", "A map with state: pipeline.scan(stage).")
      .def(
          "__init__",
          [](scan_value* to, std::string name, nb::callable look, nb::callable step,
             nb::callable apply, nb::object initial, std::string parameters,
             std::size_t processes) {
            new (to)
                scan_value(make_scan(std::move(name), std::move(look), std::move(step),
                                     std::move(apply), initial, std::move(parameters), processes));
          },
          "name"_a, nb::kw_only(), "look"_a, "step"_a, "apply"_a, "initial"_a = nb::bytes(""),
          "parameters"_a = "", "processes"_a = 0,
          nb::sig("def __init__(self, name: str, *, look: collections.abc.Callable[[Sample], bytes "
                  "| str], step: collections.abc.Callable[[bytes, bytes], tuple[bytes | str, bytes "
                  "| str]], apply: collections.abc.Callable[[Sample, bytes], typing.Any], initial: "
                  "bytes | str = b'', parameters: str = '', processes: int = 0) -> None"),
          "`look(sample)` gives a few bytes; `step(state, looked)` gives (new state, result), both "
          "bytes, sample by sample in each lane; `apply(sample, result)` sets fields. `processes`: "
          "as in MapStage, for `look` and `apply`.");
}

} // namespace leat::python
