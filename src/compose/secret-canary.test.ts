// Unique secrets go through a host in every way that a credential can, also wrongly. None of them may be written down.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, test } from "vitest";
import { openAuditKey } from "../audit/key-file.ts";
import { mcp } from "../caps/mcp/protocol.ts";
import { toolkits } from "../caps/toolkits/protocol.ts";
import { tools } from "../caps/tools/protocol.ts";
import type { AuditEntry } from "../host/ports/audit.ts";
import type { JsonObject } from "../protocol/json.ts";
import { createMemoryRecordings } from "../recording/memory-recordings.suite.ts";
import { recordHost } from "../recording/recorded-host.ts";
import { tableCalls } from "../rights/table-calls.suite.ts";
import { startServer } from "../server/http-server.ts";
import { createAuditFile } from "../stores/files/audit-file.ts";
import { createProvenAuditLog } from "../stores/files/proven-audit-log.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { createHostMetrics } from "../telemetry/host-metrics.ts";
import { createCapturedLog } from "../testing/captured-log.ts";
import { startGatedHost } from "./gated-host.suite.ts";
import { RawAgent, wires } from "./raw-agent.suite.ts";

const sharedToken = "canary-shared-4f1d9c";
const jwt = "eyJhbGciOiJFUzI1NiJ9.Y2FuYXJ5LWp3dA.Y2FuYXJ5LXNpZ25hdHVyZQ";
const field = "canary-field-77aa31";

/** Every text in a folder. */
async function readFolder(path: string): Promise<string> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith(".key"));
  const texts = await Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), "latin1")));
  return texts.join("\n");
}

test("no secret is in a log line, an error, an audit entry, a recording, a metric or the list of sessions", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-canary-"));
  const log = createCapturedLog();
  const auditDatabase = await createSqliteDatabase({ path: ":memory:" });
  const audits = [
    createAuditFile({ path: join(folder, "audit.log"), maxBytes: 1e7, maxBackups: 1, log }),
    createProvenAuditLog({
      database: auditDatabase,
      path: join(folder, "audit"),
      key: openAuditKey(join(folder, "audit.key"), "a2e/canary"),
      clock: () => Date.now(),
      log,
    }),
  ];
  const recordings = createMemoryRecordings();
  const metrics = createHostMetrics({ version: "1" });
  const gated = await startGatedHost({
    sharedToken,
    log,
    roles: { reader: { allow: ["*:read"], deny: [] } },
    limits: { callTimeoutMs: 30, maxLinesBeforeHandshake: 1000 },
    interceptors: [metrics.interceptor],
    audit: {
      record: (entry: AuditEntry) => audits.forEach((audit) => void audit.record(entry)),
      close: async () => void (await Promise.all(audits.map((audit) => audit.close()))),
    },
    wrap: (options) => recordHost(options, { recordings }),
    respond(type) {
      if (type === tools.calls.call.type) return new Promise<never>(() => {});
      if (type === toolkits.calls.configure.type) throw new Error("a handler failed");
      return undefined;
    },
  });
  const server = await startServer(gated.host, { port: 0, metrics: () => metrics.render(gated.host) });
  const { key } = gated.keys.create({ id: "right", roles: ["operator"] });
  const reader = gated.keys.create({ id: "reader", roles: ["reader"] }).key;
  const narrowed = gated.mint("right", { tools: ["read_*"] });
  const foreign = gated.mint("right", { audience: ["another-host"] });
  const wrongKey = `a2e_right_${"c0ffee11".repeat(8)}`;
  const tokens = [sharedToken, key, reader, narrowed, foreign, wrongKey, jwt, `${sharedToken}-not`, `${narrowed}x`];

  const errors: unknown[] = [];
  const sessionIds: string[] = [];
  for (const open of Object.values(wires)) {
    for (const token of tokens) {
      const agent = await RawAgent.open(open(gated.host, server.url));
      const opened = await agent.shakeHands(token, gated.host.capabilities);
      sessionIds.push(String(opened.session_id));
      // A token under a wrong type, in an unknown field, and in a field with another type.
      const requests: [string, JsonObject][] = [
        ["handshake/reqq", { auth_token: token }],
        ["handshake/req", { auth_token: [token], agent_caps: 1 }],
        [mcp.calls.registerServer.type, { auth_token: token, config: { headers: { authorization: field } } }],
        ...concealing(),
      ];
      const answers = await Promise.all(requests.map(([type, request]) => agent.ask(type, request)));
      const called = agent.ask(tools.calls.call.type, tools.calls.call.example.request);
      errors.push(...answers.filter(({ code }) => code !== undefined), { ...(await called) });
      await agent.close();
    }
  }
  const kept = await RawAgent.open((wires.HTTP as (typeof wires)[string])(gated.host, server.url));
  sessionIds.push(String((await kept.shakeHands(key, ["tools"])).session_id));
  const texts = await Promise.all(
    [
      ...[key, narrowed, reader, wrongKey, jwt].flatMap((token) => [
        ["/sessions", token],
        ["/metrics", token],
        [`/no-such-path?token=x`, token],
      ]),
    ].map(async ([path = "", token = ""]) => {
      const answer = await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } });
      return `${answer.headers.get("www-authenticate")} ${await answer.text()}`;
    }),
  );
  gated.keys.revoke("right");
  await kept.close();
  await gated[Symbol.asyncDispose]();
  await server.close(0);
  metrics.close();
  await auditDatabase.close();

  const written: Record<string, string> = {
    log: inspect(log.entries, { depth: 12, maxStringLength: null, maxArrayLength: null }),
    errors: JSON.stringify(errors),
    answers: texts.join("\n"),
    audit: await readFolder(folder),
    recordings: recordings.texts.join("\n"),
  };
  await rm(folder, { recursive: true });
  for (const [place, text] of Object.entries(written)) {
    expect(text.length, place).toBeGreaterThan(100);
    for (const secret of [...tokens, field]) expect(text.includes(secret), `${secret} in ${place}`).toBe(false);
    for (const id of sessionIds) expect(text.includes(id), `session id in ${place}`).toBe(false);
  }
});

/** A request of each call with secret fields, with a secret in each of them. */
function concealing(): [string, JsonObject][] {
  return tableCalls.flatMap(({ call }) =>
    call.concealed
      .filter((name) => name !== "auth_token")
      .map((name): [string, JsonObject] => {
        const { [name]: given } = call.example.request as JsonObject;
        const secret = typeof given === "object" && given !== null && !Array.isArray(given) ? { token: field } : field;
        return [call.type, { ...(call.example.request as JsonObject), [name]: secret }];
      }),
  );
}
