// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <string_view>

namespace conform {

/// The text as it may stand in XML or HTML between tags. What is no UTF-8, and the control characters that XML forbids,
/// become U+FFFD.
std::string escape_markup(std::string_view text);

/// The same in a quoted attribute, where line breaks and tabs would else be read as blanks.
std::string escape_attribute(std::string_view text);

/// A JSON document as it may stand in a <script> element: `<`, `>`, `&` and the line separators of JavaScript, which
/// occur in texts only, as \u escapes.
std::string escape_script_json(std::string_view json);

/// The text on one line of a terminal: no control characters, so that no device's name moves the cursor.
std::string escape_terminal(std::string_view text);

}  // namespace conform
