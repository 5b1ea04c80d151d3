#include "runtime/order/operators/pack_bins.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace leat {

part_range read_range(const pack_plan& plan, item_reader& from) {
  part_range x;
  if (from.number(1) == 0)
    return x;
  x.from = from.number();
  x.to = from.number();
  if (!plan.cuts() || *x.to <= x.from || *x.to - x.from > plan.length)
    refuse_state("elements " + std::to_string(x.from) + " to " + std::to_string(*x.to)
                     + " of a document in a pack of " + std::to_string(plan.length),
                 plan.cuts() ? "a part that a pack holds" : "whole documents");
  return x;
}

void pack_bins::place(item document, const probe_result& found) {
  if (found.bad)
    closed_.push_back({0, {{.document = std::move(document)}}});
  else if (plan_.split)
    fill(std::move(document), found.number);
  else if (found.number > plan_.length)
    cut(std::move(document), found.number);
  else
    put({.document = std::move(document)}, found.number);
}

void pack_bins::close_all() {
  while (!open_.empty())
    close(0);
}

void pack_bins::give(item& into) {
  into.add(closed_.front().parts.size());
  for (auto& x : closed_.front().parts) {
    write(x.range, into);
    into.append(std::move(x.document));
  }
  closed_.pop_front();
}

void pack_bins::save(item& to) const {
  save(open_, to);
  save(closed_, to);
}

void pack_bins::load(item_reader& from, bool ended, const edge_form& documents) {
  // A full bin is closed, and at the end all bins are.
  open_ = load_bins(ended ? 0 : plan_.bins, plan_.length - 1, from, documents);
  closed_ = load_bins(UINT64_MAX, plan_.length, from, documents);
}

void pack_bins::write(const part_range& x, item& to) {
  to.add(x.to ? 1 : 0);
  if (x.to) {
    to.add(x.from);
    to.add(*x.to);
  }
}

void pack_bins::save(const std::deque<bin>& bins, item& to) {
  to.add(bins.size());
  for (const auto& x : bins) {
    to.add(x.elements);
    to.add(x.parts.size());
    for (const auto& p : x.parts) {
      write(p.range, to);
      to.hold(p.document);
    }
  }
}

/// `most` limits the number of bins, `most_elements` the elements in each.
std::deque<pack_bins::bin> pack_bins::load_bins(std::uint64_t most, std::uint64_t most_elements,
                                                item_reader& from,
                                                const edge_form& documents) const {
  std::deque<bin> bins;
  for (auto left = from.number(most, "bins"); left > 0; --left) {
    auto& x = bins.emplace_back();
    x.elements = from.number(most_elements, "elements in a bin");
    auto parts = from.number();
    if (parts == 0)
      refuse_state("a bin without documents", "one at least");
    for (; parts > 0; --parts) {
      const auto range = read_range(plan_, from);
      x.parts.push_back({.document = held_item(documents, from), .range = range});
    }
  }
  return bins;
}

/// Puts a document, or a part of one, into an open bin that has room for all of it.
void pack_bins::put(part x, std::uint64_t elements) {
  auto fits = bin_for(elements);
  if (fits == open_.end()) {
    if (open_.size() == plan_.bins)
      close(std::max_element(open_.begin(), open_.end(),
                             [](const bin& a, const bin& b) { return a.elements < b.elements; })
            - open_.begin());
    open_.emplace_back();
    fits = open_.end() - 1;
  }
  fits->elements += elements;
  fits->parts.push_back(std::move(x));
  if (fits->elements == plan_.length)
    close(fits - open_.begin());
}

/// The bin that a document goes into; the end if none has room for it.
std::deque<pack_bins::bin>::iterator pack_bins::bin_for(std::uint64_t elements) {
  const auto has_room = [&](const bin& x) { return elements <= plan_.length - x.elements; };
  const auto first = std::find_if(open_.begin(), open_.end(), has_room);
  if (plan_.fit == pack_fit::first)
    return first;
  auto best = first;
  for (auto x = first; x != open_.end(); ++x)
    if (has_room(*x) && x->elements > best->elements)
      best = x;
  return best;
}

/// Fills one bin after the other, however often the document has to be split.
void pack_bins::fill(item document, std::uint64_t elements) {
  for (std::uint64_t done = 0; done < elements;) {
    if (open_.empty())
      open_.emplace_back();
    const auto taken = std::min(elements - done, plan_.length - open_.front().elements);
    part x;
    if (taken < elements)
      x.range = {done, done + taken};
    done += taken;
    if (done == elements) {
      x.document = std::move(document);
      return fill_open(std::move(x), taken);
    }
    x.document = document;
    fill_open(std::move(x), taken);
  }
}

void pack_bins::fill_open(part x, std::uint64_t elements) {
  auto& now = open_.front();
  now.parts.push_back(std::move(x));
  now.elements += elements;
  if (now.elements == plan_.length)
    close(0);
}

/// Closes bins with one part each of a document that is longer than they are, and puts what is left
/// of it into an open one.
void pack_bins::cut(item document, std::uint64_t elements) {
  std::uint64_t done = 0;
  for (; elements - done >= plan_.length; done += plan_.length)
    closed_.push_back(
        {plan_.length, {{.document = document, .range = {done, done + plan_.length}}}});
  if (done < elements)
    put({.document = std::move(document), .range = {done, elements}}, elements - done);
}

void pack_bins::close(std::ptrdiff_t x) {
  closed_.push_back(std::move(open_[static_cast<std::size_t>(x)]));
  open_.erase(open_.begin() + x);
}

} // namespace leat
