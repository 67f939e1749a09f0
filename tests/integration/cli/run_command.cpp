// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "run_command.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cli_test {
namespace {

/// A temporary file that is both written by the child and read back here.
class Capture {
public:
  Capture() : file_(std::tmpfile()) {}
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() { std::fclose(file_); }
  int descriptor() const { return fileno(file_); }
  std::string text() {
    std::string out;
    if (std::fseek(file_, 0, SEEK_SET) != 0) return out;
    std::array<char, 4096> piece{};
    for (std::size_t n = 0; (n = std::fread(piece.data(), 1, piece.size(), file_)) > 0;) out.append(piece.data(), n);
    return out;
  }

private:
  std::FILE* file_;
};

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& string : strings) out.push_back(const_cast<char*>(string.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Ran run(const std::vector<std::string>& arguments, const std::vector<std::string>& environment) {
  std::vector<std::string> command{VERBENA_COMMAND};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = environment;
  for (const char* kept : {"PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
    if (const char* value = std::getenv(kept)) variables.push_back(std::string(kept) + "=" + value);
  }
  const std::vector<char*> argv = pointers(command);
  const std::vector<char*> envp = pointers(variables);
  Capture out;
  Capture err;
  const pid_t child = fork();
  if (child == 0) {
    dup2(out.descriptor(), STDOUT_FILENO);
    dup2(err.descriptor(), STDERR_FILENO);
    execve(VERBENA_COMMAND, argv.data(), envp.data());
    _exit(127);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.text(), err.text()};
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::string source_file(const std::string& path) {
  return std::string(VERBENA_SOURCE_DIR) + "/" + path;
}

std::string written(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + "/verbena-" + std::to_string(getpid()) + "-" + name;
  std::ofstream(path) << content;
  return path;
}

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace cli_test
