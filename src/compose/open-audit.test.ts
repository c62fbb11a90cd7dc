import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readAuditKey } from "../audit/key-file.ts";
import { verifyLog } from "../audit/verify.ts";
import { A2EClient } from "../client/client.ts";
import { toHostConfig } from "../config/parsing.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { createDirectTransport } from "../transports/direct.ts";
import { startConfiguredHost } from "./configured-host.ts";
import { provenAuditPaths } from "./open-audit.ts";

const newPath = useTemporaryFolder();

test("a proven audit log continues after a restart, and the configured witnesses get its checkpoints", async () => {
  const received: string[] = [];
  const witness = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk as string;
    received.push(`${request.url} ${body}`);
    response.writeHead(500, { connection: "close" }).end();
  }).listen(0, "127.0.0.1");
  await once(witness, "listening");
  onTestFinished(() => void witness.close());
  const folder = newPath();
  const witnesses = [`http://127.0.0.1:${(witness.address() as AddressInfo).port}/`];
  const audit = { mode: "proven" as const, witnesses, keep_entries: 1000, keep_days: 7 };
  const config = toHostConfig({ audit }, { baseDir: folder, env: {} });
  for (let round = 0; round < 2; round++) {
    const host = await startConfiguredHost(config);
    const client = await A2EClient.connect({ transport: createDirectTransport(() => host.sessions.create()) });
    await client.disconnect();
    await host.close(0);
  }
  const { folder: log, key } = provenAuditPaths(join(folder, ".a2e"));
  const report = verifyLog(log, readAuditKey(key)?.verify ?? (() => false));
  expect(report).not.toHaveProperty("damage");
  expect(report.remarks).toHaveLength(1);
  expect(report.lines).toBeGreaterThanOrEqual(3);
  expect(received[0]).toMatch(/^\/add-checkpoint old 0\n\na2e\/a2e-host\n/);
});
