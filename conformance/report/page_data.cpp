// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "page_data.hpp"

#include <map>

#include "run_json.hpp"

namespace conform {
namespace {

using Json = nlohmann::ordered_json;

bool empty(const Json& value) {
  return value.is_null() || ((value.is_array() || value.is_object()) && value.empty()) ||
         (value.is_string() && value.get_ref<const std::string&>().empty());
}

/// Takes out the entries of an object that say nothing; a page of many runs is a third of the size without them.
void drop_empty(Json& object) {
  for (auto entry = object.begin(); entry != object.end();) {
    entry = empty(*entry) || *entry == Json(false) ? object.erase(entry) : std::next(entry);
  }
}

Json compact(const Run& run) {
  // By way of the text, so that bytes which are no UTF-8 have been replaced.
  Json out = Json::parse(run_to_json(run));
  for (Json& one : out["cases"]) {
    for (const Side side : {Side::raw, Side::verbena}) {
      Json& column = one[std::string(word(side))];
      for (Json& finding : column["findings"]) drop_empty(finding);
      drop_empty(column);
    }
  }
  out.erase("counts");
  return out;
}

}  // namespace

Json run_page_data(const Run& run) {
  Json data;
  data["title"] = title(run);
  data["run"] = compact(run);
  return data;
}

Json matrix_page_data(const std::vector<const Run*>& runs) {
  Json data;
  data["runs"] = Json::array();
  std::map<std::string, Json> cases;
  for (const Run* run : runs) {
    Json entry = compact(*run);
    entry["title"] = title(*run);
    for (Json& one : entry["cases"]) {
      Json alike;
      for (const char* key : {"says", "area", "covers", "impact"}) {
        alike[key] = std::move(one[key]);
        one.erase(key);
      }
      const auto [known, first] = cases.emplace(one["id"].get<std::string>(), alike);
      // Runs of different lists may say it in other words.
      if (!first && known->second != alike) one.update(alike);
    }
    data["runs"].push_back(std::move(entry));
  }
  data["cases"] = cases;
  return data;
}

}  // namespace conform
