// What the host and a plugin in a thread of its own say to each other. Sessions, calls and the rest go by number.
import type { JsonObject, JsonValue } from "../protocol/json.ts";

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
  isReplay: boolean;
}

/** Keys with their values; a key without a value was deleted. */
export type StateEntries = [key: string, value?: JsonValue][];

/** A question of the host to the thread, which answers each of them once: it has done so, or with an error. */
export type Question =
  | { what: "setup"; setup: ThreadSetup }
  | {
      what: "open";
      session: number;
      info: { id: string; principal: { id: string; isAuthenticated: boolean } };
      state: StateEntries;
    }
  | { what: "close"; session: number; isForGood: boolean }
  | { what: "end" };

export type ToPluginThread =
  | { kind: "ask"; ask: number; question: Question }
  | { kind: "call"; session: number; call: number; id: string; name: string; request: JsonObject }
  | { kind: "abort"; session: number; call: number; error: ThreadError }
  | { kind: "nested"; nested: number; result?: JsonObject; error?: ThreadError }
  | { kind: "nestedEvent"; nested: number; event: { kind: string; data: JsonObject; seq: number } }
  | { kind: "ping" };

/** What the thread asks of the host, which answers each once. */
export interface NestedRequest {
  kind: "nested";
  session: number;
  /** The call that makes it; absent where the session does so outside of any. */
  call?: number;
  nested: number;
  type: string;
  request: JsonObject;
  timeoutMs?: number;
  id?: string;
}

/** The same for a question to the agent. */
export interface AgentRequest {
  kind: "askAgent";
  session: number;
  nested: number;
  type: string;
  request: JsonObject;
  timeoutMs?: number;
}

/** What the thread says of one session, whose calls and requests have numbers of their own. */
export type SessionMessage =
  | { kind: "result"; session: number; call: number; result: JsonObject | undefined }
  | { kind: "error"; session: number; call: number; error: ThreadError }
  | { kind: "event"; session: number; call: number; event: string; data: JsonObject }
  | { kind: "timeout"; session: number; call: number; timeoutMs: number }
  /** Comes before whatever the plugin says after the change. */
  | { kind: "state"; session: number; changes: StateEntries }
  | { kind: "push"; session: number; type: string; payload: JsonObject }
  | NestedRequest
  | AgentRequest
  /** Whoever waits for it has given up. */
  | { kind: "abortNested"; session: number; nested: number };

export type FromPluginThread =
  | SessionMessage
  | { kind: "answer"; ask: number; error?: ThreadError }
  | { kind: "log"; level: "info" | "warn" | "error"; message: string; fields: Record<string, unknown> }
  | { kind: "pong" };
