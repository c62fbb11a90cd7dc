// The environment that the built-in tools share.

import type { GuardedNetwork } from "../../../machinery/confinement/guarded-request.ts";
import type { Workspace } from "../../../machinery/confinement/workspace.ts";
import type { WorkerPool } from "../../../machinery/threads/worker-pool.ts";

export interface HttpSettings extends GuardedNetwork {
  timeoutMs: number;
}

interface JsSettings {
  memoryMb: number;
  timeoutMs: number;
}

export interface BuiltinEnvironment {
  readonly workspace: Workspace;
  /** For grep and glob. */
  readonly searchPool: WorkerPool;
  /** For js_eval, separate from searches: scripts may use all of their time. */
  readonly scriptPool: WorkerPool;
  readonly http: HttpSettings;
  readonly js: JsSettings;
}
