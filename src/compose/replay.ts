// Replays a recording in a host of its own, made from the config and gone afterwards.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtinPlugins } from "../caps/plugins.generated.ts";
import { loadPlugins } from "../config/plugin-loading.ts";
import type { A2EHostConfig } from "../config/schema.ts";
import { keepSessions } from "../durability/keep-sessions.ts";
import { A2EHost } from "../host/host.ts";
import { type Logger, silentLogger } from "../plugin/logger.ts";
import type { PluginFactory } from "../plugin/plugin.ts";
import { type ReplayOptions, replayRecording } from "../recording/replay.ts";
import type { ReplayReport } from "../recording/replay-report.ts";
import { createMemorySnapshotStore } from "../stores/snapshots/memory-snapshot-store.ts";
import { createSqliteDatabase } from "../stores/sqlite/sqlite-database.ts";

export interface ConfiguredReplayOptions extends Pick<ReplayOptions, "mustRunTools" | "waitMs"> {
  log?: Logger;
  /** Plugins that a `type` in the config may name without `cls`, beside the built-in plugins. */
  plugins?: Readonly<Record<string, () => Promise<PluginFactory>>>;
}

/**
 * Loads new plugins from the config and gives them an empty database and data folder; no file that the config names is
 * written. Rejects with a RecordingError if the text is not a recording that this config can replay.
 */
export async function replayConfigured(
  text: string,
  config: A2EHostConfig,
  { log = silentLogger, plugins = {}, ...options }: ConfiguredReplayOptions = {},
): Promise<ReplayReport> {
  const dataDir = await mkdtemp(join(tmpdir(), "a2e-replay-"));
  try {
    return await replayRecording(text, {
      ...options,
      startHost: async (prepare) => {
        const loaded = await loadPlugins(config, { builtin: { ...builtinPlugins, ...plugins }, log });
        const database = await createSqliteDatabase({ path: ":memory:" });
        try {
          return await A2EHost.start(
            prepare({
              hostId: config.host_id,
              plugins: loaded,
              keeping: keepSessions,
              snapshots: createMemorySnapshotStore(),
              database,
              log,
              dataDir,
              workspaceDir: config.workspace_dir,
            }),
          );
        } catch (error) {
          await database.close();
          throw error;
        }
      },
    });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
