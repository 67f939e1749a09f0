// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "html.hpp"

#include <fmt/format.h>

#include "escape.hpp"
#include "page_data.hpp"
#include "page_files.hpp"

namespace conform {
namespace {

using Json = nlohmann::ordered_json;

/// Nothing is fetched, by policy too: whatever a text from outside may contain.
std::string page(const std::string& title, std::string_view script, const Json& data) {
  return fmt::format(R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="verbena report">
<title>{}</title>
<link rel="icon" href="data:,">
<style>
{}</style>
</head>
<body>
<noscript><p>This page is drawn by the script that it holds, which is switched off here. <code>verbena report show</code>
prints the same run as text.</p></noscript>
<script type="application/json" id="data">{}</script>
<script>
{}{}</script>
</body>
</html>
)",
                     escape_markup(title), page_file("page.css"),
                     escape_script_json(data.dump(-1, ' ', false, Json::error_handler_t::replace)),
                     page_file("shared.js"), script);
}

std::optional<std::string> matrix_page(const std::vector<const Run*>& runs, bool models, const std::string& other) {
  if (runs.empty()) return std::nullopt;
  Json data = matrix_page_data(runs);
  data["models"] = models;
  data["other"] = other.empty() ? Json(nullptr) : Json(other);
  return page(fmt::format("Conformance of {} {}", runs.size(), models ? "models" : "devices"), page_file("matrix.js"),
              data);
}

}  // namespace

std::string run_to_html(const Run& run) {
  return page(fmt::format("{} {}: conformance", run.red ? "✗ red:" : "✓", title(run)), page_file("run.js"),
              run_page_data(run));
}

MatrixPages runs_to_matrix(const std::vector<Run>& runs, const std::string& devices_file,
                           const std::string& models_file) {
  std::vector<const Run*> devices, models;
  for (const Run& run : runs) (run.substrate == Substrate::emulated ? models : devices).push_back(&run);
  return {matrix_page(devices, false, models.empty() ? "" : models_file),
          matrix_page(models, true, devices.empty() ? "" : devices_file)};
}

}  // namespace conform
