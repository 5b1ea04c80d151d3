#include "tests/support/restored_job.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::pack_test {
namespace {

using texts = std::vector<std::string>;
using numbers = std::vector<std::int64_t>;

pipeline documents(const texts& all) {
  return from_function("documents@1", all.size(),
                       [all](std::uint64_t i, sample& s) { s.set("text", all[i]); });
}

template <class T>
pipeline tokens(const std::vector<std::vector<T>>& all) {
  return from_function("tokens@1", all.size(), [all](std::uint64_t i, sample& s) {
    s.set("text", all[i], {all[i].size()});
  });
}

struct pack_row {
  std::string id;
  std::string text;
  numbers segment;
  numbers offset;
  numbers labels = {};
  numbers cu_seqlens = {};
  std::int64_t longest = 0;
};

template <class View>
numbers row_of(const View& x, std::size_t row, std::size_t length) {
  return {x.data() + row * length, x.data() + (row + 1) * length};
}

/// The packs of one lane; those of documents that are bad have only an id.
std::vector<pack_row> packs_of(const texts& all, std::size_t length, const pack_options& options) {
  loader from{
      documents(all).pack("text", length, options).batch(3, {.lanes = 1, .end = epoch_end::mask}),
      {.workers = 0, .epochs = 1}};
  std::vector<pack_row> rows;
  while (const auto batch = from.next()) {
    const auto ids = batch->ids();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      pack_row x;
      x.id = ids[i];
      const auto text = row_of(batch->view<std::uint8_t, 2>("text"), i, length);
      x.text.assign(text.begin(), text.end());
      if (options.segment)
        x.segment = row_of(batch->view<std::int32_t, 2>("segment"), i, length);
      if (options.offset)
        x.offset = row_of(batch->view<std::int32_t, 2>("offset"), i, length);
      if (options.labels)
        x.labels = row_of(batch->view<std::int64_t, 2>("labels"), i, length);
      if (options.cu_seqlens) {
        const auto bounds = batch->ragged<std::int32_t, 1>("cu_seqlens")[i];
        x.cu_seqlens.assign(bounds.data(), bounds.data() + bounds.extents()[0]);
        x.longest = batch->view<std::int32_t, 1>("longest")(i);
      }
      rows.push_back(std::move(x));
    }
  }
  return rows;
}

texts texts_of(const texts& all, std::size_t length, pack_options options) {
  options.pad = '.';
  texts result;
  for (const auto& x : packs_of(all, length, options))
    result.push_back(x.text);
  return result;
}

texts ids_of(const texts& all, std::size_t length, const pack_options& options) {
  texts result;
  for (const auto& x : packs_of(all, length, options))
    result.push_back(x.id);
  return result;
}

TEST_CASE("pack: best fit takes the open sample with the least room that is enough") {
  const texts all{"bbb", "aaaaa", "d", "cc"};
  CHECK(texts_of(all, 6, {.bins = 4}) == texts{"bbbdcc", "aaaaa."});
  CHECK(texts_of(all, 6, {.bins = 4, .fit = pack_fit::best}) == texts{"aaaaad", "bbbcc."});
  // Among several with the same room, the oldest is chosen.
  CHECK(texts_of({"aaa", "bbb", "ccc", "d"}, 4, {.bins = 3, .fit = pack_fit::best})
        == texts{"aaad", "bbb.", "ccc."});
  // If none has room, the fullest is closed, as with first fit.
  CHECK(texts_of({"aaa", "bbbb", "cccc", "d"}, 5, {.bins = 2, .fit = pack_fit::best})
        == texts{"bbbb.", "ccccd", "aaa.."});
}

TEST_CASE("pack: only a document that is longer than a sample is cut, and its rest is packed") {
  const pack_options above{.bins = 2, .cut = pack_cut::above};
  const texts all{"xy", "abcdefghij", "zw"};
  CHECK(texts_of(all, 4, above) == texts{"abcd", "efgh", "xyij", "zw.."});
  CHECK(ids_of(all, 4, above)
        == texts{"(documents/1@0-4)", "(documents/1@4-8)", "(documents/0+documents/1@8-10)",
                 "(documents/2)"});
  CHECK(texts_of({"x", "abcdefgh", "y"}, 4, above) == texts{"abcd", "efgh", "xy.."});
  CHECK(ids_of({"abcd"}, 4, above) == texts{"(documents/0)"});
  // The delimiter counts as a part of the document.
  auto delimited = above;
  delimited.delimiter = '!';
  CHECK(texts_of({"abcd", "x"}, 4, delimited) == texts{"abcd", "!x!."});
  CHECK(ids_of({"abcd", "x"}, 4, delimited)
        == texts{"(documents/0@0-4)", "(documents/0@4-5+documents/1)"});
  const auto rows = packs_of({"abcdef"}, 4, delimited);
  CHECK(rows[1].offset == numbers{4, 5, 6, 0});
  CHECK(rows[1].segment == numbers{1, 1, 1, 0});
}

TEST_CASE("pack: cutting always is splitting") {
  CHECK(documents({"a"}).pack("text", 4, {.bins = 3, .cut = pack_cut::always})
        == documents({"a"}).pack("text", 4, {.split = true, .fit = pack_fit::best}));
}

/// Lengths around that of a sample, and far beyond it.
texts random_documents(std::mt19937_64& random, std::size_t length) {
  texts all(random() % 40);
  for (auto& x : all) {
    x.resize(random() % 5 == 0 ? random() % (4 * length) : random() % (length + 2));
    for (auto& c : x)
      c = static_cast<char>(random());
  }
  return all;
}

TEST_CASE("pack: every element of every document comes once, with its label") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 200; ++round) {
    const auto length = 1 + random() % 12;
    pack_options options{.bins = 1 + random() % 5, .labels = true, .cu_seqlens = true};
    options.fit = random() % 2 == 0 ? pack_fit::first : pack_fit::best;
    options.cut = random() % 2 == 0 ? pack_cut::above : pack_cut::always;
    options.ignore_index = random() % 2 == 0 ? -100 : -1;
    options.pad = 5;
    if (random() % 2 == 0)
      options.delimiter = '!';
    const auto all = random_documents(random, length);
    // Ends are elements that have no label.
    std::map<std::pair<char, std::int64_t>, int> seen;
    std::map<std::pair<char, std::int64_t>, int> expected;
    for (auto text : all) {
      if (options.delimiter)
        text += '!';
      for (std::size_t i = 0; i < text.size(); ++i) {
        const bool is_last = i + 1 == text.size();
        ++expected[{text[i],
                    is_last ? options.ignore_index : static_cast<std::uint8_t>(text[i + 1])}];
      }
    }
    if (expected.empty())
      continue;
    for (const auto& x : packs_of(all, length, options)) {
      std::int64_t used = 0;
      std::map<std::int64_t, std::int64_t> sizes;
      for (std::size_t i = 0; i < length; ++i) {
        used += x.segment[i] != 0 ? 1 : 0;
        ++sizes[x.segment[i]];
        if (x.segment[i] != 0)
          ++seen[{x.text[i], x.labels[i]}];
        else
          REQUIRE(x.labels[i] == options.ignore_index);
      }
      REQUIRE(x.cu_seqlens.front() == 0);
      REQUIRE(x.cu_seqlens.back() == used);
      REQUIRE(std::is_sorted(x.cu_seqlens.begin(), x.cu_seqlens.end()));
      std::int64_t longest = 0;
      for (std::size_t i = 1; i < x.cu_seqlens.size(); ++i) {
        const auto elements = x.cu_seqlens[i] - x.cu_seqlens[i - 1];
        REQUIRE(elements == sizes[static_cast<std::int64_t>(i)]);
        longest = std::max(longest, elements);
      }
      REQUIRE(x.longest == longest);
    }
    REQUIRE(seen == expected);
  }
}

TEST_CASE("pack: restored at every batch, in the middle of cut documents as well") {
  std::mt19937_64 random{7};
  auto all = random_documents(random, 9);
  while (all.size() < 60)
    all.push_back(std::string(random() % 30, 'x'));
  for (const auto end : {epoch_end::mask, epoch_end::drop})
    for (const auto& options :
         {pack_options{.bins = 3, .fit = pack_fit::best, .cut = pack_cut::above},
          pack_options{.bins = 1, .delimiter = 1, .cut = pack_cut::above, .labels = true},
          pack_options{.bins = 5, .fit = pack_fit::best, .labels = true, .cu_seqlens = true},
          pack_options{.split = true, .labels = true, .cu_seqlens = true}}) {
      const auto data = documents(all)
                            .shuffle({.seed = 2})
                            .pack("text", 9, options)
                            .batch(4, {.lanes = 2, .end = end});
      CAPTURE(to_string(data));
      CHECK(test::check_restores(data, 2).size() > 6);
    }
}

/// The causes of bad samples in a job that masks them.
std::set<cause> causes_of(const pipeline& x) {
  loader from{x.batch(1, {.lanes = 1, .end = epoch_end::mask}),
              {.workers = 0, .epochs = 1, .bad_samples = bad_sample_policy::mask}};
  std::set<cause> causes;
  while (const auto batch = from.next())
    for (const auto& bad : batch->bad())
      causes.insert(bad.why);
  return causes;
}

TEST_CASE("pack: labels are whole numbers of 64 bits") {
  const pack_options labels{.labels = true};
  const auto at = [](const pipeline& x) {
    loader from{x.batch(1, {.lanes = 1}), {.workers = 0, .epochs = 1}};
    return row_of((*from.next()).view<std::int64_t, 2>("labels"), 0, 3);
  };
  CHECK(at(tokens<std::int16_t>({{1, -2, 3}}).pack("text", 3, labels)) == numbers{-2, 3, -100});
  CHECK(at(tokens<std::uint64_t>({{1, INT64_MAX}}).pack("text", 3, labels))
        == numbers{INT64_MAX, -100, -100});
  // There is a good sample, since a job that has only bad ones is refused.
  const auto of_all = concat({tokens<std::uint64_t>({{1, std::uint64_t{1} << 63}}),
                              tokens<double>({{0.5, 1.5}}), tokens<std::int64_t>({{1, 2}})});
  CHECK(causes_of(of_all.pack("text", 2, labels)) == std::set{cause::wrong_shape});
  loader from{of_all.pack("text", 2, labels).batch(3, {.lanes = 1, .end = epoch_end::mask}),
              {.workers = 0, .epochs = 1, .bad_samples = bad_sample_policy::mask}};
  CHECK((*from.next()).bad().size() == 2);
}

TEST_CASE("pack: segment and offset can be left out, and all else is as before") {
  const texts all{"abc", "", "de", "fghi", "jklmnopqr"};
  for (const bool segment : {true, false})
    for (const bool offset : {true, false}) {
      pack_options options{.pad = '.', .cut = pack_cut::above, .labels = true, .cu_seqlens = true};
      const auto with = packs_of(all, 6, options);
      options.segment = segment;
      options.offset = offset;
      const auto fields = documents(all).pack("text", 6, options).batch(1, {.lanes = 1});
      loader from{fields, {.workers = 0, .epochs = 1}};
      const auto names = from.next()->fields();
      CHECK(std::ranges::count(names, "segment") == (segment ? 1 : 0));
      CHECK(std::ranges::count(names, "offset") == (offset ? 1 : 0));
      const auto rows = packs_of(all, 6, options);
      REQUIRE(rows.size() == with.size());
      for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(rows[i].id == with[i].id);
        CHECK(rows[i].text == with[i].text);
        CHECK(rows[i].segment == (segment ? with[i].segment : numbers{}));
        CHECK(rows[i].offset == (offset ? with[i].offset : numbers{}));
        CHECK(rows[i].labels == with[i].labels);
        CHECK(rows[i].cu_seqlens == with[i].cu_seqlens);
        CHECK(rows[i].longest == with[i].longest);
      }
    }
}

TEST_CASE("pack: options that exclude each other are refused, and names that it needs itself") {
  const auto x = count(1);
  const auto refused = [&](const std::string& field, const pack_options& options) {
    return code_of([&] { x.pack(field, 3, options); }) == errc::invalid_argument;
  };
  CHECK(refused("value", {.split = true, .cut = pack_cut::above}));
  CHECK(refused("value", {.ignore_index = -1}));
  CHECK(refused("value", {.labels = true, .ignore_index = std::int64_t{1} << 53}));
  CHECK(refused("value", {.labels = true, .ignore_index = -(std::int64_t{1} << 53)}));
  CHECK_FALSE(refused("value", {.labels = true, .ignore_index = (std::int64_t{1} << 53) - 1}));
  for (const std::string name : {"segment", "offset"}) {
    CHECK(refused(name, {}));
    CHECK_FALSE(refused(name, {.segment = false, .offset = false}));
  }
  for (const std::string name : {"labels", "cu_seqlens", "longest"}) {
    CHECK_FALSE(refused(name, {}));
    CHECK(refused(name, {.labels = true, .cu_seqlens = true}));
  }
}

TEST_CASE("pack: statistics count what was padding") {
  const auto data = documents({"abc", "de", "f"}).pack("text", 4, {.bins = 1});
  loader from{data.batch(1, {.lanes = 1, .end = epoch_end::mask}), {.workers = 0, .epochs = 1}};
  while (from.next())
    continue;
  const auto stats = from.stats();
  CHECK(stats.packed.elements % 4 == 0);
  CHECK(stats.packed.elements >= 8);
  // Both samples have one element of padding.
  CHECK(stats.packed.padding * 4 == stats.packed.elements);
}

} // namespace
} // namespace leat::pack_test
