// The examples of the guide and the reference must work.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost } from "../../testing/start-host.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { chainsPlugin } from "./plugin.ts";
import { chains } from "./protocol.ts";

async function startWithFiles(files: Record<string, string>) {
  const workspaceDir = await mkdtemp(join(tmpdir(), "a2e-chains-"));
  await mkdir(join(workspaceDir, "notes", "old"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(workspaceDir, name), text);
  const database = await createSqliteDatabase({ path: ":memory:" });
  const host = await startHost({ plugins: [toolsPlugin(), chainsPlugin()], workspaceDir, database });
  return {
    ...host,
    async [Symbol.asyncDispose]() {
      await host.close();
      await rm(workspaceDir, { recursive: true });
    },
  };
}

test("the chain at the beginning of the guide joins the files of a folder", async () => {
  await using host = await startWithFiles({ "notes/a": "one\n", "notes/b": "two\n" });
  const guide = await readFile(new URL("../../../docs/guide/chains.md", import.meta.url), "utf8");
  const [, shown = ""] = /```json\n(.*?)```/s.exec(guide) ?? [];
  const { type, ...request } = JSON.parse(shown);

  expect(type).toBe(chains.calls.run.type);
  expect(await host.client.chains.run(request)).toMatchObject({ success: true, final_output: "one\ntwo\n" });
});

test("the example of the reference has the documented result", async () => {
  const { request, result } = chains.calls.run.example;
  await using host = await startWithFiles({ "notes.txt": "Twice a day the sea comes and goes." });

  const { success, outputs, final_output, nodes_run } = result;
  expect(await host.client.chains.run(request)).toMatchObject({ success, outputs, final_output, nodes_run });
});
