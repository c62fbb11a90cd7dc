// What the built-in tools share.
import type { WorkerPool } from "../../../host/workers/worker-pool.ts";
import type { Workspace } from "../workspace.ts";

interface ResolvedAddress {
  address: string;
  family: number;
}

export interface HttpSettings {
  maxBytes: number;
  timeoutMs: number;
  /** Names to addresses; the system's resolver unless a test has another. */
  resolve(hostname: string): Promise<ResolvedAddress[]>;
  isAllowed(address: string): boolean;
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
