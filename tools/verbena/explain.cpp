// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include "commands.hpp"
#include "exit_code.hpp"
#include "explained.hpp"
#include "left_out.hpp"
#include "numbers.hpp"
#include "safety_off.hpp"
#include "say.hpp"
#include "spec.hpp"
#include "table.hpp"

namespace cli {
namespace {

struct ExplainWords {
  std::vector<std::string> cqs, qps, srqs, mrs;
  std::string policy = "prefer";
  bool rules = false;
  bool create = false;
};

/// Reads the requests; the first word that cannot be read is the error.
verbena::Result<Asked> read(const ExplainWords& words) {
  const auto policy = verbena::find_policy(words.policy);
  if (!policy) {
    return verbena::Failure(
        bad_argument("policy", fmt::format("'{}' is none of require, prefer, allow", words.policy)));
  }
  Asked asked;
  for (const std::string& word : words.cqs) {
    const verbena::Result<verbena::Wish> wish = read_wish("cqe", word);
    if (!wish) return verbena::Failure(wish.error());
    verbena::CqRequest request;
    request.cqe = *wish;
    request.policy = *policy;
    asked.cqs.push_back(request);
  }
  for (const std::string& word : words.qps) {
    verbena::Result<verbena::QpRequest> request = read_qp_spec(word, *policy);
    if (!request) return verbena::Failure(request.error());
    asked.qps.push_back(*request);
  }
  for (const std::string& word : words.srqs) {
    verbena::Result<verbena::SrqRequest> request = read_srq_spec(word);
    if (!request) return verbena::Failure(request.error());
    request->policy = *policy;
    asked.srqs.push_back(*request);
  }
  for (const std::string& word : words.mrs) {
    verbena::Result<verbena::MrRequest> request = read_mr_spec(word);
    if (!request) return verbena::Failure(request.error());
    request->policy = *policy;
    asked.mrs.push_back(*request);
  }
  return asked;
}

Json rules_json(const verbena::Contract& contract) {
  Json rules = Json::array();
  for (const verbena::RuleTrace& trace : contract.trace()) {
    Json row;
    row["id"] = trace.id;
    row["applied"] = trace.applied;
    row["why_not"] = trace.why_not;
    row["beaten_by"] = trace.beaten_by;
    rules.push_back(std::move(row));
  }
  return rules;
}

std::string rules_text(const verbena::Contract& contract) {
  Table table({"rule", "applied", "why not, or what beat it"});
  for (const verbena::RuleTrace& trace : contract.trace()) {
    table.row({trace.id, trace.applied ? "yes" : "no",
               !trace.why_not.empty()    ? trace.why_not
               : trace.beaten_by.empty() ? ""
                                         : "beaten by " + trace.beaten_by});
  }
  return "rules looked at\n" + table.text(2);
}

int explain_all(const Session& session, const Options& options, const ExplainWords& words, const Asked& asked,
                const std::vector<Target>& targets) {
  std::vector<Json> documents;
  int code = kOk;
  for (const Target& target : targets) {
    const std::vector<Explained> objects = words.create ? create(target, asked) : explain(target, asked);
    const verbena::Contract& contract = *target.contract;
    Json out;
    out["device"] = to_json(target.id);
    out["quirks"] = quirks_json(session, contract.quirks_hash());
    const std::vector<SafetyOff> off = safety_off(session, contract);
    if (!off.empty()) out["safety_off"] = to_json(off);
    out["objects"] = Json::array();
    if (!options.json) {
      say("{}: {}\nrules {}\n{}{}", target.name, to_string(target.id), hash_text(contract.quirks_hash()),
          to_text(layers_left_out(*session.library().quirks())), to_text(off));
    }
    for (const Explained& object : objects) {
      if (object.error) code = kFinding;
      if (options.json) {
        out["objects"].push_back(to_json(object));
      } else {
        say("{}", to_text(object));
      }
    }
    if (words.rules && options.json) out["rules"] = rules_json(contract);
    if (words.rules && !options.json) say("{}", rules_text(contract));
    documents.push_back(std::move(out));
  }
  if (!options.json) return code;
  Json whole;
  whole["schema"] = kSchema;
  if (documents.size() == 1) {
    for (auto& [key, value] : documents.front().items()) whole[key] = std::move(value);
  } else {
    whole["devices"] = documents;
  }
  print(whole);
  return code;
}

}  // namespace

void add_explain(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("explain", "Show what a request would be granted, and why");
  auto options = add_target_options(*command);
  auto words = std::make_shared<ExplainWords>();
  const auto list = [&](const char* option, std::vector<std::string>& where, const std::string& help) {
    command->add_option(option, where, help)->allow_extra_args(false);
  };
  list("--cq", words->cqs, "A completion queue of N entries, or FLOOR..WISH; repeatable");
  list("--qp", words->qps,
       "A queue pair: "
       "rc|uc|ud,send_wr=N,recv_wr=N,send_sge=N,recv_sge=N,inline=N,ops=A+B,srq,sig_all,in_place,policy=require|prefer|"
       "allow,substitutes=require|prefer|allow (an rc queue pair in place of a uc one); N or FLOOR..WISH; absent: "
       "depth 1, SGE 1 (with srq, 0 receives), inline 0, all opcodes; repeatable. Opcodes: " +
           std::string{kOpWords});
  list("--srq", words->srqs, "A shared receive queue: wr=N,sge=N,limit=N; repeatable");
  list("--mr", words->mrs,
       "A region: BYTES (4096, 64K, 1GiB: powers of 1024)[,local_write,remote_write,remote_read,remote_atomic,...]; "
       "repeatable");
  command->add_option("--policy", words->policy, "When a wish cannot be met: require, prefer or allow")
      ->capture_default_str();
  command->add_flag("--rules", words->rules, "Show each rule that was looked at: applied, why not, what beat it");
  command->add_flag("--create", words->create,
                    "Create the objects on the device too, and show what it returned; with --nic on an emulated NIC");
  add_live(*command, *options);
  command->footer(
      "Example: verbena explain --nic e810-roce --qp rc,send_wr=512..4096,send_sge=16,inline=256 -j\n"
      "One device gives one JSON object; several give {\"schema\":1,\"devices\":[...]}. Exit 1 if an object is "
      "refused.");
  command->callback([options, words, &run] {
    run = [options, words] {
      const verbena::Result<Asked> asked = read(*words);
      if (!asked) return fail(asked.error());
      if (asked->empty() && !words->rules) {
        return fail_usage(
            "nothing is asked for: give --cq, --qp, --srq, --mr or --rules; `verbena caps` shows the limits");
      }
      options->live |= words->create;
      return with_targets(*options, [&](const Session& session, std::vector<Target>& targets) {
        return explain_all(session, *options, *words, *asked, targets);
      });
    };
  });
}

}  // namespace cli
