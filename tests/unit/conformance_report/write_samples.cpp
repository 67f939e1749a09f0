// SPDX-License-Identifier: Apache-2.0 OR MIT
// write_samples SOURCE_TREE FOLDER: writes FOLDER/NAME.json and FOLDER/NAME.html of each sample run, and the matrices.
#include <cstdio>
#include <cstdlib>

#include "report/file.hpp"
#include "report/html.hpp"
#include "report/run_json.hpp"
#include "sample_runs.hpp"

namespace {

void write(const std::string& file, const std::string& text) {
  const verbena::Result<void> wrote = conform::write_file(file, text);
  if (wrote) return;
  static_cast<void>(std::fprintf(stderr, "%s\n", wrote.error().text.c_str()));
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string folder = argv[2];
  std::vector<conform::Run> runs;
  for (auto& [name, run] : conform::sample_runs(argv[1])) {
    write(folder + "/" + name + ".json", conform::run_to_json(run));
    write(folder + "/" + name + ".html", conform::run_to_html(run));
    if (name != "hostile") runs.push_back(std::move(run));
  }
  const conform::MatrixPages pages = conform::runs_to_matrix(runs, "matrix.html", "matrix.models.html");
  write(folder + "/matrix.html", pages.devices.value());
  write(folder + "/matrix.models.html", pages.models.value());
}
