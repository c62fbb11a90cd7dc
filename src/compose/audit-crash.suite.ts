// Kills a loaded host again and again. Afterwards the audit log must have exactly the calls that were answered, each once,
// and must continue every checkpoint that was signed before a kill.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { linesOf } from "../audit/audit-block.ts";
import { readAuditKey } from "../audit/key-file.ts";
import { newestBlocks } from "../audit/prove.ts";
import { TileFolder } from "../audit/tiles.ts";
import { verifyLog } from "../audit/verify.ts";
import { memory } from "../caps/memory/protocol.ts";
import { connect } from "./connect-node.ts";
import { useKilledHost } from "./killed-host.suite.ts";
import { provenAuditPaths } from "./open-audit.ts";

const workers = 8;

/** Defines the test with this many kills. */
export function testAuditOverKills(kills: number): void {
  const startHost = useKilledHost("audit-crash-host.suite.ts");

  test(`after ${kills} kills of a host the audit log has the answered calls and no others`, {
    timeout: 60_000 + kills * 12_000,
  }, async () => {
    const host = await startHost();
    const { folder, key } = provenAuditPaths(host.folder);
    const client = await connect(`http://127.0.0.1:${host.port}`, {
      agentId: "survivor",
      reconnect: { initialBackoffMs: 10, maxBackoffMs: 100 },
      timeoutMs: 0,
    });
    const answered: string[] = [];
    const anchors: string[] = [];
    let isOver = false;
    const work = async (worker: number) => {
      for (let round = 0; !isOver; round++) {
        const id = `${worker}-${round}`;
        // A working memory is state of the session, in the log of turns; an episodic memory is in tables.
        const tier = round % 3 === 0 ? "episodic" : "working";
        await client.memory.store({ entries: [{ key: id, content: id, tier }] }, { id });
        answered.push(id);
      }
    };
    const working = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)));
    working.catch(() => {});
    for (let count = 0; count < kills; count++) {
      const before = answered.length;
      await expect.poll(() => answered.length).toBeGreaterThan(before + workers);
      await host.restartSoon();
      const note = readCheckpoint(folder);
      if (note !== undefined) anchors.push(note);
    }
    isOver = true;
    await working;
    await client.disconnect();
    // The last entries are signed after the restart.
    await host.restart();
    await expect.poll(() => auditedIds(folder).length).toBeGreaterThanOrEqual(answered.length);

    const signer = readAuditKey(key);
    if (signer === undefined) throw new Error("the host has no key");
    const audited = auditedIds(folder);
    expect(audited.length).toBe(new Set(audited).size);
    expect([...audited].sort()).toEqual([...answered].sort());
    const report = verifyLog(folder, signer.verify, anchors);
    expect(report).not.toHaveProperty("damage");
    expect(report.remarks.filter(({ audit }) => audit !== "began")).toEqual([]);
    expect(anchors.length).toBeGreaterThan(0);
    await host.end();
  });
}

function readCheckpoint(folder: string): string | undefined {
  try {
    return readFileSync(`${folder}/checkpoint`, "utf8");
  } catch {
    return undefined;
  }
}

/** The ids of the stores below the newest checkpoint. */
function auditedIds(folder: string): string[] {
  const size = Number(readCheckpoint(folder)?.split("\n")[1] ?? 0);
  const lines = [...newestBlocks(new TileFolder(folder), size)].flatMap(({ entry }) => linesOf(entry));
  const entries = lines.map((line) => JSON.parse(line) as { type?: string; req_id: string });
  return entries.flatMap(({ type, req_id }) => (type === memory.calls.store.type ? req_id : []));
}
