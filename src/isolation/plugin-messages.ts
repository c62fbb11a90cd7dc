// The messages between the host and a plugin in a thread. Sessions, calls, questions and nested requests have numbers.
import type { Principal } from "../plugin/principal.ts";
import type { ErrorJson } from "../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../protocol/json.ts";

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

/** What the host asks the thread to do. The thread answers each question once, with an error if it failed. */
export type Question =
  | { what: "setup"; setup: ThreadSetup }
  | {
      what: "open";
      session: number;
      info: { id: string; principal: Principal };
      state: StateEntries;
    }
  | { what: "close"; session: number; isForGood: boolean }
  | { what: "end" };

export type ToPluginThread =
  | { kind: "ask"; ask: number; question: Question }
  | { kind: "call"; session: number; call: number; id: string; name: string; request: JsonObject }
  | { kind: "abort"; session: number; call: number; error: ErrorJson }
  | { kind: "nested"; nested: number; result?: JsonObject; error?: ErrorJson }
  | { kind: "nestedEvent"; nested: number; event: { kind: string; data: JsonObject; seq: number } }
  | { kind: "ping" };

/** A call of another capability that the plugin makes. The host answers each once. */
export interface NestedRequest {
  kind: "nested";
  session: number;
  /** The call in which it was made; absent if it was made with `call` of the session. */
  call?: number;
  nested: number;
  type: string;
  request: JsonObject;
  timeoutMs?: number;
  id?: string;
}

/** A question of the plugin to the agent. The host answers each once. */
export interface AgentRequest {
  kind: "askAgent";
  session: number;
  nested: number;
  type: string;
  request: JsonObject;
  timeoutMs?: number;
}

/** Messages of the thread about a session. */
export type SessionMessage =
  | { kind: "result"; session: number; call: number; result: JsonObject | undefined }
  | { kind: "error"; session: number; call: number; error: ErrorJson }
  | { kind: "event"; session: number; call: number; event: string; data: JsonObject }
  | { kind: "timeout"; session: number; call: number; timeoutMs: number }
  /** Sent ahead of every message that the plugin sends after the change. */
  | { kind: "state"; session: number; changes: StateEntries }
  | { kind: "push"; session: number; type: string; payload: JsonObject }
  | NestedRequest
  | AgentRequest
  /** The plugin no longer waits for the answer. */
  | { kind: "abortNested"; session: number; nested: number };

export type FromPluginThread =
  | SessionMessage
  | { kind: "answer"; ask: number; error?: ErrorJson }
  | { kind: "log"; level: "info" | "warn" | "error"; message: string; fields: Record<string, unknown> }
  | { kind: "pong" };
