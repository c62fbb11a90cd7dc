// What the host and a plugin in a thread of its own say to each other. Sessions and calls go by number.
import type { JsonObject, JsonValue } from "../../protocol/json.ts";

export interface ThreadError {
  message: string;
  /** Absent where a handler failed in a way its table does not declare. */
  code?: string;
  detail?: JsonObject;
  retryable?: boolean;
}

export interface ThreadSetup {
  cls: string;
  baseDir: string;
  type: string;
  options: JsonObject;
  name: string;
  dataDir: string;
  workspaceDir: string;
}

export type ToPluginThread =
  | { kind: "setup"; setup: ThreadSetup }
  | { kind: "open"; session: number; info: { id: string; principal: { id: string; isAuthenticated: boolean } } }
  | { kind: "call"; session: number; call: number; id: string; name: string; request: JsonObject }
  | { kind: "abort"; call: number; error: ThreadError }
  | { kind: "ask"; ask: number; session: number; what: "snapshot" | "close" }
  | { kind: "ask"; ask: number; session: number; what: "restore"; state: JsonValue }
  | { kind: "nested"; nested: number; result?: JsonObject; error?: ThreadError }
  | { kind: "nestedEvent"; nested: number; event: { kind: string; data: JsonObject; seq: number } };

/** A call that is running, or a session outside of any call. */
export type NestedFrom = { call: number } | { session: number };

export type FromPluginThread =
  | { kind: "ready" }
  | { kind: "failed"; error: ThreadError }
  | { kind: "opened"; session: number; isSaved: boolean }
  | { kind: "notOpened"; session: number; error: ThreadError }
  | { kind: "result"; call: number; result: JsonObject | undefined }
  | { kind: "error"; call: number; error: ThreadError }
  | { kind: "event"; call: number; event: string; data: JsonObject }
  | { kind: "timeout"; call: number; timeoutMs: number }
  | { kind: "push"; session: number; type: string; payload: JsonObject }
  | {
      kind: "nested";
      from: NestedFrom;
      nested: number;
      type: string;
      request: JsonObject;
      timeoutMs?: number;
      id?: string;
    }
  | { kind: "askAgent"; session: number; nested: number; type: string; request: JsonObject; timeoutMs?: number }
  | { kind: "answer"; ask: number; state?: JsonValue; error?: ThreadError }
  | { kind: "log"; level: "info" | "warn" | "error"; message: string; fields: Record<string, unknown> };
