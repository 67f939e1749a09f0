// SPDX-License-Identifier: Apache-2.0 OR MIT
// Every number on the command line is read in one way: what is no number in its range is refused in a sentence that
// names it and the range.
#include <gtest/gtest.h>

#include <ostream>

#include "run_command.hpp"

namespace {

using cli_test::Ran;
using cli_test::run;
using cli_test::words;

/// An option with a number: a command that is fine but for it, and its range.
struct Option {
  const char* command;
  const char* option;
  const char* min;
  const char* max;
  const char* below;  ///< empty: there is no number below
  const char* above;
  bool fraction = false;

  friend std::ostream& operator<<(std::ostream& out, const Option& o) { return out << o.command << ' ' << o.option; }
};

const Option kOptions[] = {
    {"caps --nic hip09", "--port", "1", "255", "0", "256"},
    {"explain --nic hip09 --cq 1", "-i", "1", "255", "0", "4294967297"},
    {"quirks diff builtin builtin --nic hip09", "-i", "1", "255", "0", "256"},
    {"ping", "--gid-index", "0", "255", "", "256"},
    {"ping", "--size", "8", "1073741824", "7", "1073741825"},
    {"ping", "--deadline-ms", "1", "3600000", "0", "3600001"},
#ifdef VERBENA_CONFORMANCE
    {"conform --list", "--port", "1", "255", "0", "256"},
    {"conform --list", "--sample", "0", "1000000", "", "1000001"},
    {"conform --list", "--seed", "0", "18446744073709551615", "", "18446744073709551616"},
    {"conform --list", "--jobs", "1", "64", "0", "65"},
    {"conform --list", "--repeat", "1", "1000", "0", "1001"},
    {"conform --list", "--blocked-budget", "0", "4294967295", "", "4294967296"},
    {"conform --list", "--timeout", "0.1", "3600", "0", "3600.5", true},
    {"conform --list --nic strict", "--loss", "0", "0.999", "", "1", true},
#endif
};

class NumberOptions : public testing::TestWithParam<Option> {};

TEST_P(NumberOptions, RefuseWhatIsNoNumberOfTheirRange) {
  const Option& option = GetParam();
  const auto refused = [&](const std::string& value, const std::string& why) {
    SCOPED_TRACE(value);
    std::vector<std::string> arguments = words(option.command);
    arguments.insert(arguments.end(), {option.option, value});
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.all();
    EXPECT_NE(ran.err.find("'" + value + "' " + why), std::string::npos) << ran.err;
    if (why.find("octal") == std::string::npos) {
      EXPECT_NE(ran.err.find(std::string("from ") + option.min + " to " + option.max), std::string::npos) << ran.err;
    }
  };
  for (const char* word : {"many", "nan", "inf", "0x10", "1e3", "12x", "+1", "1,5"}) refused(word, "is not a number");
  refused(option.above, "is too large");
  if (*option.below != 0) refused(option.below, "is too small");
  if (option.fraction) {
    refused("-inf", "is not a number");
    refused("-1", "is too small");
  } else {
    refused("-1", "is negative");
    refused("1.5", "is not a number");
    refused("010", "begins with 0, which elsewhere means octal");
    refused("100000000000000000000", "is too large");
  }
}

TEST_P(NumberOptions, TakeBothEndsOfTheirRange) {
  const Option& option = GetParam();
  if (std::string(option.option) == "-i" || std::string(option.option) == "--port") return;  // a model has few ports
  for (const char* value : {option.min, option.max}) {
    std::vector<std::string> arguments = words(option.command);
    arguments.insert(arguments.end(), {option.option, value});
    if (arguments.front() == "ping") arguments.insert(arguments.end(), {"-d", "nothere0"});
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.err.find("wanted"), std::string::npos) << value << ": " << ran.err;
    EXPECT_EQ(ran.code, arguments.front() == "ping" ? 2 : 0) << ran.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Each, NumberOptions, testing::ValuesIn(kOptions));

TEST(Numbers, OfARequestAreReadInTheSameWay) {
  for (const char* arguments :
       {"--cq 010", "--qp rc,send_wr=010", "--qp rc,send_wr=01..4", "--srq wr=07", "--mr 08K"}) {
    std::vector<std::string> line = words(std::string("explain --nic hip09 ") + arguments);
    const Ran ran = run(line);
    EXPECT_EQ(ran.code, 2) << arguments << ran.all();
    EXPECT_NE(ran.err.find("begins with 0"), std::string::npos) << ran.err;
  }
}

}  // namespace
