#pragma once

#include "messages/cluster/incarnation.hpp"
#include "messages/cluster/job_rules.hpp"
#include "messages/cluster/process_identity.hpp"

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace leat {

// Each struct that can become bytes has one list of its fields: a function `fields(visit, x)`,
// found by the visitor's namespace. A writer visits it to fill the struct's message, a reader to
// fill the struct. What one list may name:
//
// - numbers, truth values and texts: the message's field of that name;
// - an optional one of them: `name` with `has_name` beside it;
// - structs, and optional ones: a message;
// - vectors and maps of structs or pairs: a repeated message.

/// A field of a struct, and what protoc makes of the message's field. Functions that the message
/// does not have are never called.
template <class T, class Get, class Set, class Has, class SetHas, class Inside>
struct wire_field {
  T& x;
  Get get;
  Set set;
  Has has;
  SetHas set_has;
  Inside inside;
};

template <class T, class... Calls>
wire_field(T&, Calls...) -> wire_field<T, Calls...>;

/// `place` is kept as the message's field `name`.
#define LEAT_FIELD_AS(place, name)                                                                 \
  ::leat::wire_field {                                                                             \
    place, [](const auto& message) { return message.name(); },                                     \
        [](auto& message, const auto& value) { message.set_##name(value); },                       \
        [](const auto& message) { return message.has_##name(); },                                  \
        [](auto& message, bool value) { message.set_has_##name(value); },                          \
        [](auto& message) { return message.mutable_##name(); }                                     \
  }
#define LEAT_FIELD(name) LEAT_FIELD_AS(x.name, name)

/// A struct, to be written or to be filled.
template <class T, class Struct>
concept either = std::same_as<std::remove_const_t<T>, Struct>;

template <class T>
concept wire_number = std::is_arithmetic_v<T>;
template <class T>
concept wire_list = !std::same_as<T, std::string> && requires(T x) {
  x.begin();
};
template <class T>
concept wire_map = requires {
  typename T::mapped_type;
};
template <class T>
concept wire_optional = requires(T x) {
  x.has_value();
};

/// Fills a message.
template <class Message>
class wire_writer {
public:
  explicit wire_writer(Message& to) : to_(to) {}

  template <class... Field>
  void operator()(const Field&... all) const {
    (one(all.x, all), ...);
  }

private:
  template <class T, class Field>
  void one(const T& x, const Field& field) const {
    if constexpr (std::same_as<T, std::string> || wire_number<T>)
      field.set(to_, x);
    else if constexpr (wire_list<T>)
      for (const auto& entry : x)
        write(entry, *field.inside(to_)->Add());
    else if constexpr (!wire_optional<T>)
      write(x, *field.inside(to_));
    else if constexpr (wire_number<typename T::value_type>)
      field.set_has(to_, x.has_value()), field.set(to_, x.value_or(0));
    else if (x)
      write(*x, *field.inside(to_));
  }

  template <class T, class Inside>
  static void write(const T& x, Inside& to) {
    fields(wire_writer<Inside>{to}, x);
  }

  Message& to_;
};

/// Fills a struct that still has its defaults. Texts are moved out of the message.
template <class Message>
class wire_reader {
public:
  explicit wire_reader(Message& from) : from_(from) {}

  template <class... Field>
  void operator()(const Field&... all) const {
    (one(all.x, all), ...);
  }

private:
  template <class T, class Field>
  void one(T& x, const Field& field) const {
    if constexpr (std::same_as<T, std::string>)
      x = std::move(*field.inside(from_));
    else if constexpr (wire_number<T>)
      x = static_cast<T>(field.get(from_));
    else if constexpr (wire_map<T>)
      for (auto& entry : *field.inside(from_)) {
        std::pair<typename T::key_type, typename T::mapped_type> one;
        read(one, entry);
        x[one.first] = one.second;
      }
    else if constexpr (wire_list<T>)
      for (auto& entry : *field.inside(from_))
        read(x.emplace_back(), entry);
    else if constexpr (!wire_optional<T>)
      read(x, *field.inside(from_));
    else if (!field.has(from_))
      x.reset();
    else if constexpr (wire_number<typename T::value_type>)
      x = field.get(from_);
    else
      read(x.emplace(), *field.inside(from_));
  }

  template <class T, class Inside>
  static void read(T& x, Inside& from) {
    fields(wire_reader<Inside>{from}, x);
  }

  Message& from_;
};

template <class Message, class Struct>
std::string bytes_of(const Struct& x) {
  Message to;
  fields(wire_writer<Message>{to}, x);
  return to.SerializeAsString();
}

// What messages and state files have in common.

template <class Visit>
void fields(const Visit& visit, either<incarnation> auto& x) {
  visit(LEAT_FIELD(high), LEAT_FIELD(low), LEAT_FIELD(let_go));
}

template <class Visit>
void fields(const Visit& visit, either<process_identity> auto& x) {
  visit(LEAT_FIELD_AS(x.host.low, host_low), LEAT_FIELD_AS(x.host.high, host_high),
        LEAT_FIELD_AS(x.boot.low, boot_low), LEAT_FIELD_AS(x.boot.high, boot_high),
        LEAT_FIELD(pid_namespace), LEAT_FIELD(time_namespace), LEAT_FIELD(pid),
        LEAT_FIELD(start_ticks));
}

template <class Visit>
void fields(const Visit& visit, either<job_rules> auto& x) {
  visit(LEAT_FIELD(world_size), LEAT_FIELD(least_ranks), LEAT_FIELD(most_ranks),
        LEAT_FIELD(comes_back_alone), LEAT_FIELD(run_ahead));
}

} // namespace leat
