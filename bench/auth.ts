// What does it cost to ask whether a call is allowed?
import { tools } from "../src/caps/tools/protocol.ts";
import { compileRights, everything, type Rights } from "../src/rights/rights.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";

export const benchmark: Benchmark = {
  id: "auth",
  title: "is this tool call allowed? 20 rules",
  cases: {
    rules: { title: "20 rules, 8 tools", start: () => startDecisions(createRights(), usualNames) },
    "new-names": {
      title: "20 rules, each tool for the first time",
      start: () => startDecisions(createRights(), newNames),
    },
    everything: { title: "no rules", start: () => startDecisions(everything, usualNames) },
  },
  bars: [
    { id: "auth.decide", ours: "rules", peer: "everything", measure: "perSecond" },
    { id: "auth.new_names", ours: "new-names", peer: "everything", measure: "perSecond" },
  ],
};

/** Decisions between two looks at the clock. */
const batch = 10_000;

const usualNames = Array.from({ length: 8 }, (_, index) => `read_file_${index}`);
/** More than are remembered, so that each is decided anew. */
const newNames = Array.from({ length: batch }, (_, index) => `read_file_${index}`);

/** The rule that allows the call is the last of the twenty. */
function createRights(): Rights {
  const denied = ["write_*", "js_eval", "http_*", "*_secret", "shell__*", "a?b", "delete_*", "x", "y", "z"];
  const others = ["memory:read ns:team-*", "env/*", "tool:list_*", "planning/*", "tool:*_info", "skill:plan", "*:read"];
  const allow = [...others, "tool:echo", "tool:glob", "tool:read_*"];
  return compileRights({ bench: { allow, deny: denied.map((name) => `tool:${name}`) } }, ["bench"]);
}

async function startDecisions(rights: Rights, names: readonly string[]): Promise<RunningCase> {
  const tableCall = { capability: tools, name: "call", call: tools.calls.call };
  const requests = names.map((tool_name) => ({ tool_name, arguments: {} }));
  return {
    async round(ms) {
      const cpu = process.cpuUsage();
      const startedAt = performance.now();
      let calls = 0;
      let allowed = 0;
      while (performance.now() - startedAt < ms) {
        for (let index = 0; index < batch; index++) {
          const request = requests[index % requests.length] as (typeof requests)[number];
          if (rights.decideRequest(tableCall, request).allowed) allowed += 1;
        }
        calls += batch;
      }
      const elapsedMs = performance.now() - startedAt;
      const { user, system } = process.cpuUsage(cpu);
      if (allowed !== calls) throw new Error(`${calls - allowed} of ${calls} calls were refused`);
      return { perSecond: (calls / elapsedMs) * 1000, cpuUs: (user + system) / calls };
    },
    async close() {},
  };
}
