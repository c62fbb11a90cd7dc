// The suite must be able to fail: hosts with one defect each, and the requirement that finds it.
import { expect, test } from "vitest";
import type { Message } from "../protocol/envelope.ts";
import { type ConformanceResult, runConformance } from "./index.ts";
import type { DirectHost, DirectSession } from "./links/direct.ts";
import { splitCommandLine } from "./links/stdio.ts";
import { referenceToken, startDirectReferenceHost } from "./reference-host.suite.ts";
import { requirements } from "./requirements/all.ts";

type Deliver = (message: Message) => void;

/** Our host with a defect between it and the agent. */
function withDefect(spoil: (message: Message, deliver: Deliver) => void) {
  return async (): Promise<DirectHost> => {
    const host = await startDirectReferenceHost();
    return {
      openSession: () => spoilt(host.openSession(), spoil),
      findSession: (id) => host.findSession(id),
      close: () => host.close(),
    };
  };
}

function spoilt(session: DirectSession, spoil: (message: Message, deliver: Deliver) => void): DirectSession {
  return {
    id: session.id,
    receiveLine: (line) => session.receiveLine(line),
    receiveMessage: (message) => session.receiveMessage(message),
    bindTransport: (end) =>
      session.bindTransport({
        deliver: (message) => spoil(message, (spoiltMessage) => end.deliver(spoiltMessage)),
        closed: () => end.closed(),
      }),
    close: (reason) => session.close(reason),
  };
}

async function failuresOf(target: () => Promise<DirectHost>, filter: string): Promise<string[]> {
  const { results } = await runConformance({ target, token: referenceToken, filter, deadlineMs: 8_000 });
  return results.filter(({ status }) => status === "failed").map(({ id }) => id);
}

test.each<[string, string, (message: Message, deliver: Deliver) => void]>([
  [
    "ERR-1",
    "answers twice",
    (message, deliver) => {
      deliver(message);
      if (message.code === "parse_error") deliver(message);
    },
  ],
  ["ERR-3", "does not answer an array", (message, deliver) => message.code !== "invalid_message" && deliver(message)],
  [
    "ERR-5",
    "answers an unknown type with parse_error",
    (message, deliver) => deliver(message.code === "unknown_type" ? { ...message, code: "parse_error" } : message),
  ],
  [
    "HS-3",
    "has a new session id for each handshake",
    (message, deliver) => deliver(message.type === "handshake/resp" ? { ...message, session_id: message.id } : message),
  ],
  [
    "EVT-2",
    "counts events from 0",
    (message, deliver) => deliver(typeof message.seq === "number" ? { ...message, seq: message.seq - 1 } : message),
  ],
  [
    "CALL-1",
    "gives a repeated answer another id",
    (message, deliver) => deliver({ ...message, id: `${message.id.slice(0, 24)}${counter()}` }),
  ],
  [
    "ENVS-2",
    "has no observation beside obs",
    (message, deliver) => {
      const { observation: _, ...rest } = message;
      deliver(rest as Message);
    },
  ],
  [
    "ENVS-8",
    "calls a truncated episode done",
    (message, deliver) =>
      deliver(JSON.parse(JSON.stringify(message).replaceAll('"done":false,"truncated":true', '"done":true'))),
  ],
  [
    "ENVS-15",
    "does not reproduce an episode",
    (message, deliver) => deliver(message.type === "env/batch_step/resp" ? withNoise(message) : message),
  ],
  [
    "MEM-10",
    "counts after the limit",
    (message, deliver) =>
      deliver(Array.isArray(message.entries) ? { ...message, total: message.entries.length } : message),
  ],
  [
    "MEM-6",
    "answers an unknown memory with runtime_error",
    (message, deliver) =>
      deliver(message.code === "memory_not_found" ? { ...message, code: "runtime_error" } : message),
  ],
  [
    "PLAN-24",
    "gives a task to all who claim it",
    (message, deliver) =>
      deliver(message.code === "claim_conflict" ? { ...message, type: "planning/task/claim/resp" } : message),
  ],
  [
    "PLAN-5",
    "keeps descriptions to itself",
    (message, deliver) => deliver(JSON.parse(JSON.stringify(message).replaceAll('"long text"', '""'))),
  ],
  [
    "SESS-15",
    "does not report how a capability was handled",
    (message, deliver) => deliver(message.type === "session/fork/resp" ? { ...message, capabilities: {} } : message),
  ],
  ["TOOL-5", "measures in fractions of milliseconds", (message, deliver) => deliver(withFractions(message))],
])("%s fails for a host that %s", async (id, _defect, spoil) => {
  expect(await failuresOf(withDefect(spoil), id)).toContain(id);
});

test.each<[string, (message: Message) => Message]>([
  ["ENV-1", ({ a2e: _, ...message }) => message as Message],
  ["PY-1", (message) => (message.type === "error" ? { ...message, detail: null } : message)],
  [
    "ERR-12",
    (message) => (message.type === "error" ? { ...message, code: String(message.code).toUpperCase() } : message),
  ],
])("a review of the whole traffic finds a violation of %s", async (id, change) => {
  const chosen = requirements.filter((requirement) => requirement.id === id || requirement.id === "ERR-1");
  const target = withDefect((message, deliver) => deliver(change(message)));
  const { results } = await runConformance({ target, token: referenceToken, requirements: chosen, deadlineMs: 8_000 });
  expect(results.find((result) => result.id === id)?.status).toBe("failed");
});

test("a silent host fails every requirement, and the run ends", async () => {
  const { score, results } = await runConformance({ target: withDefect(() => {}), deadlineMs: 50 });
  expect(score.passed).toBe(results.filter(({ status }) => status === "passed").length);
  expect(results.filter(({ id }) => /^(HS|GATE|CALL|TOOL)-/.test(id)).every(({ status }) => status === "failed")).toBe(
    true,
  );
});

test("a host without the reference tools is asked less, and each omission is named", async () => {
  const hidden = withDefect((message, deliver) =>
    deliver(message.type === "tool/list/resp" ? { ...message, tools: [] } : message),
  );
  const { results } = await runConformance({ target: hidden, token: referenceToken, filter: "CALL-" });
  const skipped = results.filter(({ status }) => status === "skipped");
  expect(skipped.map(({ id }) => id)).toContain("CALL-1");
  for (const { message } of skipped) expect(message).toMatch(/the host has no tool "conformance_\w+"/);
});

test("each result is reported as soon as it is known", async () => {
  const told: ConformanceResult[] = [];
  const report = await runConformance({
    target: startDirectReferenceHost,
    token: referenceToken,
    filter: "gate-",
    onResult: (result) => told.push(result),
  });
  expect(told).toEqual(report.results);
  expect(report.score).toEqual({ passed: told.length, failed: 0, skipped: 0 });
});

test("a command that cannot be run fails the requirements with its name", async () => {
  const { results } = await runConformance({ target: "no-such-command-of-anyone --stdio", filter: "GATE-1" });
  expect(results[0]?.message).toContain("no-such-command-of-anyone");
});

test("a command line is split at spaces outside quotes", () => {
  expect(splitCommandLine(`node "my host.js" --name='a b' plain`)).toEqual([
    "node",
    "my host.js",
    "--name=a b",
    "plain",
  ]);
});

let count = 0;
function counter(): string {
  count += 1;
  return count.toString(16).padStart(8, "0");
}

function withNoise(message: Message): Message {
  return { ...message, results: [{ obs: { state: { value: counter() } } }] };
}

function withFractions(message: Message): Message {
  const { data } = message;
  return message.type === "tool/call/resp" ? { ...message, data: { ...(data as object), duration_ms: 0.5 } } : message;
}
