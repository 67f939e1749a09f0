// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "escape.hpp"

#include <array>
#include <cstddef>

namespace conform {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// The bytes of the character at the start of `text`; 0 when they are no UTF-8 (The Unicode Standard, table 3-7).
std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const unsigned low = first == 0xe0 ? 0xa0 : 0x80;
    const unsigned high = first == 0xed ? 0x9f : 0xbf;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const unsigned low = first == 0xf0 ? 0x90 : 0x80;
    const unsigned high = first == 0xf4 ? 0x8f : 0xbf;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

/// U+FFFE and U+FFFF, which are no characters of XML.
bool no_character(std::string_view character) noexcept {
  return character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
}

bool control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

}  // namespace

namespace {

std::string escape(std::string_view text, bool attribute) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    const bool controls = length == 1 && control(character[0]) && character != "\n" && character != "\t";
    if (length == 0 || no_character(character) || controls) {
      out += kReplacement;
    } else if (character == "&") {
      out += "&amp;";
    } else if (character == "<") {
      out += "&lt;";
    } else if (character == ">") {
      out += "&gt;";
    } else if (character == "\"") {
      out += "&quot;";
    } else if (character == "'") {
      out += "&#39;";
    } else if (character == "\n") {
      out += attribute ? "&#10;" : "\n";
    } else if (character == "\t") {
      out += attribute ? "&#9;" : "\t";
    } else {
      out += character;
    }
  }
  return out;
}

}  // namespace

std::string escape_markup(std::string_view text) {
  return escape(text, false);
}

std::string escape_attribute(std::string_view text) {
  return escape(text, true);
}

std::string escape_script_json(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  while (!json.empty()) {
    std::size_t taken = 1;
    switch (json[0]) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        if (json.starts_with("\xe2\x80\xa8") || json.starts_with("\xe2\x80\xa9")) {
          out += json[2] == '\xa8' ? "\\u2028" : "\\u2029";
          taken = 3;
        } else {
          out += json[0];
        }
    }
    json.remove_prefix(taken);
  }
  return out;
}

std::string escape_terminal(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    // C1 control characters (U+0080 to U+009F) move the cursor too.
    const bool c1 = length == 2 && character[0] == '\xc2' && static_cast<unsigned char>(character[1]) < 0xa0;
    if (length == 0 || c1 || (length == 1 && control(character[0]))) {
      out += '?';
    } else {
      out += character;
    }
  }
  return out;
}

}  // namespace conform
