// The built-in toolkits of a host.
import { lookup } from "node:dns/promises";
import { isPublicAddress } from "../../../machinery/confinement/public-address.ts";
import type { PluginContext } from "../../../plugin/plugin.ts";
import type { Toolkit } from "../define-toolkit.ts";
import type { ParsedToolkitsOptions } from "../options.ts";
import { AllowedFolders } from "./allowed-folders.ts";
import { filesystemToolkit } from "./filesystem/filesystem.ts";
import { httpToolkit } from "./http/http.ts";
import { type BuiltinName, builtinNames } from "./names.ts";
import { sqliteToolkit } from "./sqlite/sqlite.ts";
import { SqliteProcesses } from "./sqlite/sqlite-processes.ts";

/** Created per host, since they enforce the options of its operator. */
export function createBuiltins(
  { builtin, base_dir, folders, writable_folders, http, sqlite }: ParsedToolkitsOptions,
  { workspaceDir, log }: PluginContext,
): { toolkits: Toolkit[]; close(): Promise<void> } {
  const allowed = new AllowedFolders({ workspaceDir, baseDir: base_dir, folders, writableFolders: writable_folders });
  const processes = new SqliteProcesses({ size: sqlite.processes, memoryMb: sqlite.memory_mb, log });
  const create: Record<BuiltinName, () => Toolkit> = {
    filesystem: () => filesystemToolkit(allowed),
    http: () =>
      httpToolkit({
        maxBytes: http.max_bytes,
        timeoutMs: http.timeout_ms,
        resolve: (hostname) => lookup(hostname, { all: true }),
        isAllowed: http.allow_private ? () => true : isPublicAddress,
      }),
    sqlite: () =>
      sqliteToolkit(allowed, processes, {
        allowWrite: sqlite.allow_write,
        maxRows: sqlite.max_rows,
        timeoutMs: sqlite.timeout_ms,
      }),
  };
  const names = builtin === true ? builtinNames : builtin === false ? [] : builtin;
  return { toolkits: names.map((name) => create[name]()), close: () => processes.close() };
}
