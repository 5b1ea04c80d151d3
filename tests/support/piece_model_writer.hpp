#pragma once

#include <cstring>
#include <string>

namespace leat::test {

/// A message of Protobuf, of at most 127 bytes, as a field of another one.
inline std::string message(char field, const std::string& content) {
  return std::string{static_cast<char>(field * 8 + 2), static_cast<char>(content.size())} + content;
}

/// One piece of a model of SentencePiece. Types: 1 normal, 2 unknown, 3 control.
inline std::string piece(const std::string& text, float score, char type) {
  std::string bytes(sizeof score, '\0');
  std::memcpy(bytes.data(), &score, sizeof score);
  return message(1, message(1, text) + '\x15' + bytes + '\x18' + type);
}

/// What makes it a unigram model, after its pieces.
inline std::string unigram() {
  return message(2, "\x18\x01");
}

} // namespace leat::test
