// What the built-in tools share.
import type { GuardedNetwork } from "../../../host/confinement/guarded-request.ts";
import type { Workspace } from "../../../host/confinement/workspace.ts";
import type { WorkerPool } from "../../../host/workers/worker-pool.ts";

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
  /** For js_eval, apart from searches: scripts may take all of their time. */
  readonly scriptPool: WorkerPool;
  readonly http: HttpSettings;
  readonly js: JsSettings;
}
