#pragma once

#include <leat/functions.hpp>
#include <leat/pipeline.hpp>
#include <leat/sources.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

// Pipelines together with their expected output: each operator exists here twice, as leat's own and
// in the simplest form, over whole lists and without state. Samples have one field, `v`.
// `docs/iterators.md` defines the operators.

namespace leat::test {

using values = std::vector<std::int64_t>;

/// Thrown if a mix has to restart an input that gives nothing.
struct gives_nothing {};

struct twin {
  pipeline data;
  /// Everything that a lane gives in an epoch.
  std::function<values(std::uint64_t lane, std::uint64_t lanes)> plain;
  /// Whether its order is indexed: operators after it would then mean something else than is
  /// written here.
  bool is_indexed = false;
};

inline std::int64_t scrambled(std::int64_t a, std::int64_t b = 0) {
  auto x = static_cast<std::uint64_t>(a) * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(b);
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9U;
  return static_cast<std::int64_t>((x ^ (x >> 32)) >> 1);
}

inline std::int64_t v_of(const sample& s, const char* field = "v") {
  return s.get<std::int64_t>(field);
}

/// `n` samples, whose values no other leaf has.
inline twin leaf(std::uint64_t n, std::int64_t number, bool is_expensive) {
  const auto value = [number](std::uint64_t i) {
    return scrambled(number, static_cast<std::int64_t>(i));
  };
  auto data =
      from_function("leaf@1", n, [value](std::uint64_t i, sample& s) { s.set("v", value(i)); });
  if (is_expensive) // with a map, content stays with its item
    data = data.map("same@1", [](sample&, context&) {});
  return {data,
          [=](std::uint64_t lane, std::uint64_t lanes) {
            values all;
            for (auto i = lane; i < n; i += lanes)
              all.push_back(value(i));
            return all;
          },
          true};
}

/// Two samples whose values are drawn anew in every pass: they are unknown here, but below 0,
/// unlike all others.
inline pipeline drawing_leaf() {
  return count(2)
      .filter({.name = "all@1", .make = [] { return [](sample&) { return true; }; }})
      .map("draw@1",
           [](sample& s, context& c) {
             s.set("v", -1 - static_cast<std::int64_t>(c.rng().below(std::uint64_t{1} << 62)));
           })
      .map(select({"v"}));
}

/// A filter that keeps one sample in `m`.
inline twin filtered(const twin& x, std::int64_t m) {
  return {x.data.filter({.name = "one_in@1",
                         .make = [m] { return [m](sample& s) { return v_of(s) % m == 0; }; }}),
          [=](std::uint64_t lane, std::uint64_t lanes) {
            auto all = x.plain(lane, lanes);
            std::erase_if(all, [m](auto v) { return v % m != 0; });
            return all;
          }};
}

inline twin scanned(const twin& x) {
  auto data = x.data.scan(running_count("b"))
                  .map("number@1",
                       [](sample& s, context&) { s.set("c", scrambled(v_of(s), v_of(s, "b"))); })
                  .map(select({"c"}))
                  .map(rename("c", "v"));
  return {data, [=](std::uint64_t lane, std::uint64_t lanes) {
            auto all = x.plain(lane, lanes);
            for (std::size_t i = 0; i < all.size(); ++i)
              all[i] = scrambled(all[i], static_cast<std::int64_t>(i));
            return all;
          }};
}

/// A flat_map that gives two, one or no children per sample.
inline twin children(const twin& x) {
  const auto make = [] {
    return flat_map_function{[](sample& s) { return static_cast<std::uint64_t>(v_of(s) % 3); },
                             [](sample& s, std::uint64_t i) {
                               s.set("v", scrambled(v_of(s), 7 + static_cast<std::int64_t>(i)));
                             }};
  };
  return {x.data.flat_map({.name = "children@1", .make = make}),
          [=](std::uint64_t lane, std::uint64_t lanes) {
            values all;
            for (const auto v : x.plain(lane, lanes))
              for (std::int64_t i = 0; i < v % 3; ++i)
                all.push_back(scrambled(v, 7 + i));
            return all;
          }};
}

namespace detail {

constexpr std::size_t packed_length = 4;

inline values document_of(std::int64_t v) {
  return values(static_cast<std::size_t>(1 + v % 3), v);
}

inline std::int64_t value_of_pack(const values& tokens) {
  std::int64_t v = 0;
  for (const auto x : tokens)
    v = scrambled(x, v);
  return v;
}

inline void set_tokens(sample& s, const values& tokens) {
  const auto to = s.make<std::int64_t>("t", {tokens.size()});
  std::copy(tokens.begin(), tokens.end(), to.begin());
}

/// First fit; closes the fullest pack if there is no room.
inline std::vector<values> packed_plainly(const values& all, std::size_t most) {
  std::deque<values> open;
  std::vector<values> closed;
  const auto close = [&](auto x) {
    closed.push_back(std::move(*x));
    open.erase(x);
  };
  for (const auto v : all) {
    const auto document = document_of(v);
    auto fits = std::find_if(open.begin(), open.end(),
                             [&](auto& x) { return x.size() + document.size() <= packed_length; });
    if (fits == open.end()) {
      if (open.size() == most)
        close(std::max_element(open.begin(), open.end(),
                               [](auto& a, auto& b) { return a.size() < b.size(); }));
      fits = open.insert(open.end(), values{});
    }
    fits->insert(fits->end(), document.begin(), document.end());
    if (fits->size() == packed_length)
      close(fits);
  }
  closed.insert(closed.end(), open.begin(), open.end());
  for (auto& x : closed)
    x.resize(packed_length);
  return closed;
}

inline std::uint64_t share_of(std::uint64_t n, std::uint64_t lane, std::uint64_t lanes) {
  return n > lane ? (n - lane + lanes - 1) / lanes : 0;
}

} // namespace detail

inline twin packed(const twin& x, std::uint64_t bins) {
  auto data =
      x.data
          .map("document@1",
               [](sample& s, context&) { detail::set_tokens(s, detail::document_of(v_of(s))); })
          .pack("t", detail::packed_length, {.bins = bins})
          .map("value@1",
               [](sample& s, context&) {
                 const auto t = s.view<std::int64_t, 1>("t");
                 const auto tokens = t.flat();
                 s.set("v", detail::value_of_pack({tokens.begin(), tokens.end()}));
               })
          .map(select({"v"}));
  return {data, [=](std::uint64_t lane, std::uint64_t lanes) {
            values all;
            for (const auto& tokens : detail::packed_plainly(x.plain(lane, lanes), bins))
              all.push_back(detail::value_of_pack(tokens));
            return all;
          }};
}

inline twin taken(const twin& x, std::uint64_t n) {
  return {x.data.take(n), [=](std::uint64_t lane, std::uint64_t lanes) {
            auto all = x.plain(lane, lanes);
            all.resize(std::min<std::size_t>(all.size(), detail::share_of(n, lane, lanes)));
            return all;
          }};
}

inline twin skipped(const twin& x, std::uint64_t n) {
  return {x.data.skip(n), [=](std::uint64_t lane, std::uint64_t lanes) {
            auto all = x.plain(lane, lanes);
            const auto n_l = std::min<std::size_t>(all.size(), detail::share_of(n, lane, lanes));
            all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n_l));
            return all;
          }};
}

inline twin repeated(const twin& x, std::uint64_t n) {
  return {x.data.repeat(n), [=](std::uint64_t lane, std::uint64_t lanes) {
            values all;
            for (std::uint64_t i = 0; i < n; ++i)
              for (const auto v : x.plain(lane, lanes))
                all.push_back(v);
            return all;
          }};
}

inline twin joined(const twin& x, const twin& y) {
  return {concat({x.data, y.data}), [=](std::uint64_t lane, std::uint64_t lanes) {
            auto all = x.plain(lane, lanes);
            for (const auto v : y.plain(lane, lanes))
              all.push_back(v);
            return all;
          }};
}

inline twin zipped(const twin& x, const twin& y) {
  auto data =
      zip({x.data.map(rename("v", "a")), y.data.map(rename("v", "b"))})
          .map("both@1",
               [](sample& s, context&) { s.set("v", scrambled(v_of(s, "a"), v_of(s, "b"))); })
          .map(select({"v"}));
  return {data, [=](std::uint64_t lane, std::uint64_t lanes) {
            auto all = x.plain(lane, lanes);
            const auto other = y.plain(lane, lanes);
            all.resize(std::min(all.size(), other.size()));
            for (std::size_t i = 0; i < all.size(); ++i)
              all[i] = scrambled(all[i], other[i]);
            return all;
          }};
}

namespace detail {

/// A mix by the rule `deficit`, in one lane.
class plain_mix {
public:
  plain_mix(std::vector<values> inputs, std::vector<std::uint64_t> weights, mix_stop stop)
      : inputs_(std::move(inputs)), weights_(std::move(weights)), stop_(stop),
        taken_(weights_.size()), at_(weights_.size()), has_ended_(weights_.size()) {}

  values all(std::uint64_t lane) {
    for (; lane > 0; --lane)
      take(pick());
    values result;
    while (!is_over_) {
      const auto i = pick();
      if (at_[i] < inputs_[i].size()) {
        result.push_back(inputs_[i][at_[i]++]);
        take(i);
      } else {
        end_of(i);
      }
    }
    return result;
  }

private:
  bool is_live(std::size_t i) const { return stop_ == mix_stop::cycle || !has_ended_[i]; }

  std::size_t pick() const {
    std::int64_t weight = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weight += is_live(i) ? static_cast<std::int64_t>(weights_[i]) : 0;
    std::size_t best = weights_.size();
    std::int64_t most = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const auto lack = static_cast<std::int64_t>(weights_[i]) * (total_ + 1) - taken_[i] * weight;
      if (is_live(i) && (best == weights_.size() || lack > most)) {
        best = i;
        most = lack;
      }
    }
    return best;
  }

  void take(std::size_t i) {
    ++taken_[i];
    ++total_;
  }

  void end_of(std::size_t i) {
    has_ended_[i] = true;
    if (stop_ == mix_stop::cycle && inputs_[i].empty())
      throw gives_nothing{};
    is_over_ = stop_ == mix_stop::first
               || std::all_of(has_ended_.begin(), has_ended_.end(), [](bool x) { return x; });
    at_[i] = stop_ == mix_stop::cycle ? 0 : at_[i];
  }

  std::vector<values> inputs_;
  std::vector<std::uint64_t> weights_;
  mix_stop stop_;
  std::vector<std::int64_t> taken_;
  std::int64_t total_ = 0;
  std::vector<std::size_t> at_;
  std::vector<bool> has_ended_;
  bool is_over_ = false;
};

} // namespace detail

inline twin mixed(const std::vector<twin>& inputs, const std::vector<std::uint64_t>& weights,
                  mix_stop stop) {
  std::vector<pipeline> data;
  for (const auto& x : inputs)
    data.push_back(x.data);
  return {mix(data, {.weights = {weights.begin(), weights.end()}, .stop = stop}),
          [=](std::uint64_t lane, std::uint64_t lanes) {
            std::vector<values> lists;
            for (const auto& x : inputs)
              lists.push_back(x.plain(lane, lanes));
            return detail::plain_mix{lists, weights, stop}.all(lane);
          }};
}

/// Grows random twins: rounds that probe content, below joins that end early.
class twin_grower {
public:
  explicit twin_grower(std::uint64_t seed) : chance_(seed) {}

  std::uint64_t below(std::uint64_t n) { return chance_() % n; }

  twin grow(int depth) {
    if (depth == 0)
      return leaf(1 + below(20), ++leaves_, below(2) == 0);
    switch (below(10)) {
    case 0:
      return filtered(grow(depth - 1), below(3) == 0 ? 6 : 2);
    case 1:
      return scanned(grow(depth - 1));
    case 2:
      return children(grow(depth - 1));
    case 3:
      return packed(grow(depth - 1), 1 + below(3));
    case 4:
      return taken(by_iterators(depth - 1), below(12));
    case 5:
      return below(2) == 0 ? skipped(by_iterators(depth - 1), below(6))
                           : repeated(by_iterators(depth - 1), 1 + below(3));
    case 6:
      return joined(by_iterators(depth - 1), grow(depth - 1));
    case 7:
    case 8:
      return zipped(by_iterators(depth - 1), grow(depth - 1));
    default:
      return mixed({grow(depth - 1), grow(depth - 1)}, {1 + below(3), 1 + below(3)},
                   std::array{mix_stop::all, mix_stop::first, mix_stop::cycle}[below(3)]);
    }
  }

  /// Nested joins that restart their inputs again and again, over a round that probes content.
  twin nest(int depth) {
    auto x = filtered(leaf(1 + below(6), ++leaves_, true), 1 + static_cast<std::int64_t>(below(2)));
    for (; depth > 0; --depth)
      if (below(4) == 0)
        x = repeated(x, 2 + below(2));
      else
        x = mixed({x, leaf(2 + below(9), ++leaves_, false)}, {1 + below(4), 1 + below(2)},
                  mix_stop::cycle);
    return x;
  }

private:
  twin by_iterators(int depth) {
    auto x = grow(depth);
    return x.is_indexed ? scanned(x) : x;
  }

  std::mt19937_64 chance_;
  std::int64_t leaves_ = 0;
};

} // namespace leat::test
