// What do credentials, rights and proofs cost? The cases of the benchmark `auth` beside single decisions.
import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LogWriter } from "../../src/audit/log-writer.ts";
import { createNoteSigner } from "../../src/audit/note-key.ts";
import { TileFolder } from "../../src/audit/tiles.ts";
import { verifyLog } from "../../src/audit/verify.ts";
import { A2EClient } from "../../src/client/client.ts";
import { createApiKeys } from "../../src/credentials/api-keys.ts";
import { isRefusal, type ProvenIdentity, type Refusal } from "../../src/credentials/credential.ts";
import { createNarrowedTokens } from "../../src/credentials/narrowed-token.ts";
import { createSharedToken } from "../../src/credentials/shared-token.ts";
import { silentLogger } from "../../src/plugin/logger.ts";
import type { Rights } from "../../src/rights/rights.ts";
import { createSqliteDatabase } from "../../src/stores/sqlite/sqlite-database.ts";
import { createDirectTransport } from "../../src/transports/direct.ts";
import { startEchoHost } from "../servers/echo-host.ts";
import { connectEcho } from "./a2e-client.ts";
import { runClosedLoop } from "./closed-loop.ts";
import type { RunningCase, Sample } from "./definition.ts";

/** Tool calls in process by a principal with these rights. */
export async function startCalls(rights: Rights): Promise<RunningCase> {
  return {
    async round(ms) {
      const { host, close } = await startEchoHost({ access: { authorize: () => rights } });
      const { client, call } = await connectEcho(createDirectTransport(() => host.sessions.create()));
      const sample = await runClosedLoop(call, { ms, inFlight: 1, sampleEvery: 16, yieldEvery: 1024 });
      await client.disconnect();
      await close();
      return sample;
    },
    async close() {},
  };
}

/** Sessions in process from connecting to disconnecting, with an API key or the shared token. */
export async function startHandshakes(kind: "key" | "token"): Promise<RunningCase> {
  const { keys, key, close } = await createKey();
  const shared = "a shared token of a usual length";
  const credential = kind === "key" ? keys : createSharedToken({ token: shared });
  const echo = await startEchoHost({
    access: {
      authenticate: ({ agent_id: agentId, token }) => {
        const outcome = credential.authenticate({ agentId, token }) as ProvenIdentity | Refusal;
        return isRefusal(outcome) ? undefined : outcome;
      },
    },
  });
  const token = kind === "key" ? key : shared;
  const connect = async () => {
    const transport = createDirectTransport(() => echo.host.sessions.create());
    const client = await A2EClient.connect({ transport, authToken: token, capabilities: ["tools"] });
    await client.disconnect();
  };
  return {
    round: (ms) => runClosedLoop(connect, { ms, inFlight: 1, yieldEvery: 16 }),
    async close() {
      await echo.close();
      await close();
    },
  };
}

/** Checks of a narrowed token with four caveats. */
export async function startTokenChecks(): Promise<RunningCase> {
  const tokens = createNarrowedTokens({ keys: [{ id: "1", secret: randomBytes(32) }] });
  const owner: ProvenIdentity = { id: "alice", isAuthenticated: true, roles: ["agent"], chain: ["alice"] };
  const links = [{ tools: ["read_*"] }, { namespaces: ["team-*"] }, { budget: { calls: 1000 } }, { depth: 1 }];
  const { narrowToken } = await import("../../src/tokens/narrow-token.ts");
  const token = links.reduce((before, link) => narrowToken(before, link), tokens.mint(owner));
  return toCase(() => {
    if (isRefusal(tokens.authenticate({ token, agentId: "" }) as ProvenIdentity | Refusal))
      throw new Error("the token was refused");
  });
}

/** Checks of a key whose secret is wrong from this position on. */
export async function startWrongKeys(at: "first" | "last"): Promise<RunningCase> {
  const { keys, key, close } = await createKey();
  const index = at === "first" ? key.length - 64 : key.length - 1;
  const wrong = key.slice(0, index) + (key[index] === "0" ? "1" : "0") + key.slice(index + 1);
  const checks = toCase(() => {
    if (!isRefusal(keys.authenticate({ token: wrong, agentId: "" }) as ProvenIdentity | Refusal))
      throw new Error("a wrong key was accepted");
  });
  return { ...checks, close };
}

/** Audit lines that are verified per second, in blocks of eight as turns under load write them. */
export async function startAuditVerification(): Promise<RunningCase> {
  const path = await mkdtemp(join(tmpdir(), "a2e-bench-audit-"));
  const signer = createNoteSigner("bench.example/audit", createHash("sha256").update("bench").digest());
  const writer = new LogWriter(new TileFolder(path), signer);
  const line = `{"ts":1700000000.000,"session_id":"0123456789abcdef","principal":"key:ci","type":"tool/call/req","req_id":"r-1","success":true}\n`;
  const [blocks, linesPerBlock] = [8192, 8];
  for (let index = 0; index < blocks; index++) writer.append(Buffer.from(line.repeat(linesPerBlock)));
  await writer.sign();
  return {
    async round(ms) {
      const sample = await toCase(() => {
        const { damage, lines } = verifyLog(path, signer.verify);
        if (damage !== undefined || lines !== blocks * linesPerBlock) throw new Error("the log is damaged");
      }, 1).round(ms);
      const lines = blocks * linesPerBlock;
      return { perSecond: sample.perSecond * lines, cpuUs: sample.cpuUs / lines };
    },
    close: () => rm(path, { recursive: true }),
  };
}

/** A peer for bars that are a number per second. */
export async function startPace(perSecond: number): Promise<RunningCase> {
  const sample: Sample = { perSecond, cpuUs: Number.NaN };
  return { round: async () => sample, async close() {} };
}

async function createKey() {
  const database = await createSqliteDatabase({ path: ":memory:" });
  const keys = createApiKeys({ database, log: silentLogger });
  const { key } = keys.create({ id: "bench", roles: ["agent"] });
  const close = async () => {
    keys.close();
    await database.close();
  };
  return { keys, key, close };
}

/** Repeats synchronous work; looks at the clock once in `batch` times. */
function toCase(work: () => void, batch = 100): RunningCase {
  return {
    async round(ms) {
      const cpu = process.cpuUsage();
      const startedAt = performance.now();
      let count = 0;
      while (performance.now() - startedAt < ms) {
        for (let index = 0; index < batch; index++) work();
        count += batch;
      }
      const elapsedMs = performance.now() - startedAt;
      const { user, system } = process.cpuUsage(cpu);
      return { perSecond: (count / elapsedMs) * 1000, cpuUs: (user + system) / count };
    },
    async close() {},
  };
}
