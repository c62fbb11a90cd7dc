import { expect, onTestFinished, test } from "vitest";
import { A2EClient } from "../client/client.ts";
import { createSqlJournal } from "../durability/journal/sql-journal-store.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import { createDirectTransport } from "./direct.ts";
import { echo, startEchoHost } from "./echo-host.suite.ts";
import { testTransport } from "./transport.suite.ts";

testTransport("direct", async () => {
  const counts = new Map<string, number>();
  const host = await startEchoHost({ counts, die: () => void host.close(0) });
  return {
    createTransport: () => createDirectTransport(() => host.sessions.create()),
    counted: (key) => counts.get(key),
    stop: () => host.close(0),
  };
});

test("a persisted session drops outgoing lines that its agent has received", async () => {
  const database = await createSqliteDatabase({ path: ":memory:" });
  const host = await startEchoHost({ database, journal: createSqlJournal(database) });
  onTestFinished(async () => {
    await host.close(0);
    await database.close();
  });
  const session = host.sessions.create();
  const client = await A2EClient.connect({
    transport: createDirectTransport(() => session),
    capabilities: [echo.name],
  });
  onTestFinished(() => client.disconnect());
  const text = "x".repeat(50_000);

  for (let count = 0; count < 40; count++) await client.rpc(echo.calls.say, { value: { text } });

  expect(session.lastSeq).toBeGreaterThan(40);
  expect(session.unsentBytes).toBeLessThan(5 * text.length);
});
