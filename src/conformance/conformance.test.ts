// Our own host meets every requirement, and the suite sends every message type and sees every error code of the tables.
// Over stdio a process is started for each requirement, so conformance.long.test.ts runs all of them over stdio.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { tables } from "../caps/tables.generated.ts";
import { coreErrors } from "../protocol/errors.ts";
import type { Capability } from "../protocol/table/capability.ts";
import { createTypeRegistry } from "../protocol/table/registry.ts";
import { type ConformanceReport, runConformance } from "./index.ts";
import type { TransportKind } from "./link.ts";
import { knownFailures, runReferenceHost } from "./reference-run.suite.ts";
import { deniedToolName } from "./reference-tools.ts";
import { requirements } from "./requirements/all.ts";
import type { Traffic } from "./traffic.ts";

/** Types that no agent can bring about, with the test that does. */
const unaskedTypes = new Map<string, string>([
  [
    "invoke/event",
    "of capabilities without an event of their own, whose calls send none: src/host/calls/call-runner.test.ts",
  ],
  ["session/replay/resp", "the reference host records nothing: src/compose/replay.test.ts"],
  ["session/token/resp", "the reference host mints no tokens: src/compose/access.test.ts"],
  ["mcp/server/authorize/resp", "needs an authorisation server: src/caps/mcp/authorization/oauth.test.ts"],
  ["skill/changed", "pushed when folders of skills change: src/caps/skill/reload.test.ts"],
]);

const capabilities: readonly Capability[] = Object.values(tables);
const eventTypes = new Set(capabilities.map(({ event }) => event));

const reports = new Map<TransportKind, ConformanceReport>();
/** Ids of the requirements that were run over some transport. */
const asked = new Set<string>();
const traffics: Traffic[] = [];

describe.each(["direct", "http", "websocket"] as const)("over %s", (transport) => {
  test("our host meets every requirement", async () => {
    const report = await runReferenceHost(transport, { onTraffic: (_transport, traffic) => traffics.push(traffic) });
    reports.set(transport, report);
    const failed = report.results.filter(({ status, id }) => status === "failed" && !knownFailures.has(id));
    expect(failed.map(({ id, message }) => `${id}: ${message}`)).toEqual([]);
  });

  test("every known failure still fails", () => {
    const passed =
      reports.get(transport)?.results.filter(({ id, status }) => knownFailures.has(id) && status !== "failed") ?? [];
    expect(passed.map(({ id }) => id)).toEqual([]);
  });

  test("nothing is skipped: the reference host offers everything that requirements need", () => {
    const skipped = reports.get(transport)?.results.filter(({ status }) => status === "skipped") ?? [];
    expect(skipped.map(({ id, message }) => `${id}: ${message}`)).toEqual([]);
  });
});

test("a host from the command line, with the reference tools named in its config, is scored too", {}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-conformance-"));
  try {
    const at = (path: string) => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));
    const config = [
      `data_dir: ${JSON.stringify(join(folder, "data"))}`,
      `workspace_dir: ${JSON.stringify(join(folder, "workspace"))}`,
      `plugins: [{ name: tools, type: tools, metadata: { modules: [${at("../entries/conformance.ts")}], deny: [${deniedToolName}] } }]`,
    ];
    await writeFile(join(folder, "a2e.yaml"), config.join("\n"));
    const target = `"${process.execPath}" --import tsx ${at("../cli/main.ts")} stdio --config "${join(folder, "a2e.yaml")}"`;
    const { results } = await runConformance({ target, filter: "exit code 0", deadlineMs: 240_000 });
    expect(results.map(({ id, status, message }) => [id, status, message]).sort()).toEqual([
      ["STDIO-4", "passed", undefined],
      ["STDIO-7", "passed", undefined],
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("over stdio our host meets every requirement about stdio", async () => {
  const { results } = await runReferenceHost("stdio", { filter: "STDIO-" });
  expect(results.filter(({ status }) => status !== "passed")).toEqual([]);
  for (const { id } of results) asked.add(id);
});

describe("the suite", () => {
  test("asks every requirement over some transport", () => {
    for (const { results } of reports.values()) for (const { id } of results) asked.add(id);
    expect(requirements.filter(({ id }) => !asked.has(id)).map(({ id }) => id)).toEqual([]);
  });

  test("gives every requirement an id of its own, a sentence and a source", () => {
    expect(new Set(requirements.map(({ id }) => id)).size).toBe(requirements.length);
    for (const { id, title, source } of requirements) {
      expect(id).toMatch(/^[A-Z]+-\d+$/);
      expect(title.split(" ").length).toBeGreaterThan(3);
      expect(source).not.toBe("");
    }
  });

  test("sends or receives every message type of the core and of every capability", () => {
    const seen = new Set(
      traffics.flatMap(({ sentTypes, received }) => [...sentTypes, ...received.map(({ message }) => message?.type)]),
    );
    const unseen = [...createTypeRegistry(capabilities).keys()].filter(
      (type) => !seen.has(type) && !unaskedTypes.has(type),
    );
    expect(unseen).toEqual([]);
  });

  test("makes the host send every type that a host sends, except those listed with a reason", () => {
    const sent = new Set(traffics.flatMap(({ received }) => received.map(({ message }) => message?.type)));
    const registry = createTypeRegistry(capabilities);
    const ofHost = [...registry].filter(
      ([type, { kind }]) => ["response", "push", "error"].includes(kind) || eventTypes.has(type),
    );
    const missing = ofHost.map(([type]) => type).filter((type) => !sent.has(type));
    expect(missing).toEqual([...unaskedTypes.keys()]);
  });

  test("sees every error code of the core and of every capability", () => {
    const seen = new Set(traffics.flatMap(({ received }) => received.map(({ message }) => message?.code)));
    const codes = [...Object.keys(coreErrors), ...capabilities.flatMap(({ errors }) => Object.keys(errors))];
    expect(codes.filter((code) => !seen.has(code))).toEqual([]);
  });
});

afterAll(() => {
  traffics.length = 0;
  reports.clear();
});
