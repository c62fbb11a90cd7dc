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
  readonly pool: WorkerPool;
  readonly http: HttpSettings;
  readonly js: JsSettings;
}
