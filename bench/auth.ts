// What do credentials and rights cost: a decision, a call, a handshake, a token, a verified audit log?
import { tools } from "../src/caps/tools/protocol.ts";
import { compileRights, everything, type Rights } from "../src/rights/rights.ts";
import {
  startAuditVerification,
  startCalls,
  startHandshakes,
  startPace,
  startTokenChecks,
  startWrongKeys,
} from "./lib/access-cases.ts";
import type { Benchmark, RunningCase } from "./lib/definition.ts";

export const benchmark: Benchmark = {
  id: "auth",
  title: "credentials, rights and proofs",
  cases: {
    rules: { title: "20 rules, 8 tools", start: () => startDecisions(createRights(), usualNames) },
    "new-names": {
      title: "20 rules, each tool for the first time",
      start: () => startDecisions(createRights(), newNames),
    },
    everything: { title: "no rules", start: () => startDecisions(everything, usualNames) },
    calls: { title: "direct tool calls, 20 rules", start: () => startCalls(createRights()) },
    "free-calls": { title: "direct tool calls, no rules", start: () => startCalls(everything) },
    key: { title: "connect and disconnect with an API key", start: () => startHandshakes("key") },
    token: { title: "the same with the shared token", start: () => startHandshakes("token") },
    narrowed: { title: "check of a token with four caveats", start: startTokenChecks },
    "narrowed-pace": { title: "10,000 checks a second", start: () => startPace(10_000) },
    "wrong-first": { title: "check of a key, wrong in its first digit", start: () => startWrongKeys("first") },
    "wrong-last": { title: "check of a key, wrong in its last digit", start: () => startWrongKeys("last") },
    verify: { title: "audit lines verified", start: startAuditVerification },
    "verify-pace": { title: "100,000 lines a second", start: () => startPace(100_000) },
  },
  bars: [
    { id: "auth.decide", ours: "rules", peer: "everything", measure: "perSecond" },
    { id: "auth.new_names", ours: "new-names", peer: "everything", measure: "perSecond" },
    { id: "auth.calls", ours: "calls", peer: "free-calls", measure: "perSecond", atLeast: 0.95 },
    // A handshake with a key takes at most 1.2 times as long.
    { id: "auth.handshake", ours: "key", peer: "token", measure: "perSecond", atLeast: 0.83 },
    { id: "auth.narrowed", ours: "narrowed", peer: "narrowed-pace", measure: "perSecond", atLeast: 1 },
    // A comparison that stops at the first difference would be faster for it; both directions are reported.
    { id: "auth.timing", ours: "wrong-first", peer: "wrong-last", measure: "cpuUs", atLeast: 0.95 },
    { id: "auth.timing_back", ours: "wrong-last", peer: "wrong-first", measure: "cpuUs", atLeast: 0.95 },
    { id: "auth.verify", ours: "verify", peer: "verify-pace", measure: "perSecond", atLeast: 1 },
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
