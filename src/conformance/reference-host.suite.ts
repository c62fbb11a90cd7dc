// A host of ours set up to be asked everything: reference tools and data, a token, and limits low enough to be reached.

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chainsPlugin } from "../caps/chains/plugin.ts";
import { envPlugin } from "../caps/env/plugin.ts";
import { mcpPlugin } from "../caps/mcp/plugin.ts";
import { memoryPlugin } from "../caps/memory/plugin.ts";
import { planningPlugin } from "../caps/planning/plugin.ts";
import { procPlugin } from "../caps/proc/plugin.ts";
import { skillPlugin } from "../caps/skill/plugin.ts";
import { toolkitsPlugin } from "../caps/toolkits/plugin.ts";
import { toolsPlugin } from "../caps/tools/plugin.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost } from "../host/host.ts";
import { createSandboxes } from "../sandboxes/sandboxes.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";
import type { DirectHost } from "./links/direct.ts";
import { referenceFile } from "./reference-data.ts";
import { referenceMcpCommand } from "./reference-mcp.ts";
import { writeReferenceSkills } from "./reference-skills.ts";
import { referenceToolkit } from "./reference-toolkit.ts";
import { createReferenceTools, deniedToolName } from "./reference-tools.ts";

export const referenceToken = "conformance-Token";

/** A folder with the reference file, for as long as the work lasts. */
export async function withReferenceFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await createReferenceFolder();
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function createReferenceFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "a2e-conformance-"));
  await mkdir(join(folder, "baseline"));
  await writeFile(join(folder, "baseline", referenceFile.name), referenceFile.content);
  await writeReferenceSkills(join(folder, "skills"));
  return folder;
}

/** The caller removes the folder. */
export async function startReferenceHost(folder: string): Promise<A2EHost> {
  const baseline = join(folder, "baseline");
  return A2EHost.start({
    hostId: "conformance",
    authToken: referenceToken,
    plugins: [
      toolsPlugin({ builtin: false, tools: createReferenceTools(), deny: [deniedToolName] }),
      toolkitsPlugin({ builtin: ["filesystem"], toolkits: [referenceToolkit], max_installed: 4 }),
      envPlugin({ data: { baseline, sources: [baseline] } }),
      memoryPlugin({ working: { max_entries: 64, on_full: "refuse" } }),
      planningPlugin({ max_tasks: 32 }),
      // The host may be bundled elsewhere than those who name the server.
      mcpPlugin({ registration: { commands: [[referenceMcpCommand[0], "*/reference-mcp-server.mjs", "..."]] } }),
      chainsPlugin(),
      // Not confined, so that it runs on every machine: confinement is tested in src/sandboxes.
      procPlugin({ sandbox: "none", allowed_commands: ["cat", "echo", "sh", "sleep"], max_procs: 8 }),
      skillPlugin({ project: [join(folder, "skills")], user: [], builtin: false, watch: false }),
    ],
    sandboxes: createSandboxes(),
    keeping: keepSessions,
    snapshots: createMemorySnapshotStore(),
    database: await createSqliteDatabase({ path: ":memory:" }),
    dataDir: join(folder, "data"),
    workspaceDir: folder,
  });
}

export async function startDirectReferenceHost(): Promise<DirectHost> {
  const folder = await createReferenceFolder();
  const host = await startReferenceHost(folder);
  return {
    openSession: () => host.sessions.create(),
    findSession: (id) => host.sessions.get(id),
    async close() {
      await host.close(0);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
