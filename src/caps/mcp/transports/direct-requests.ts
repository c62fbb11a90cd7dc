// Sends tool calls without the SDK's client, which checks each answer against the schemas of the whole specification
// several times: that costs more than everything else that the bridge does. Here results are checked in one pass. All
// other requests, and all requests over HTTP, use the SDK.
import type { JSONRPCMessage, Progress } from "@modelcontextprotocol/client";

export interface DirectOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** Fields for `_meta` of the request. */
  readonly meta?: { readonly [key: string]: string };
  onProgress(progress: Progress): void;
}

/** Why a request ended without a result. */
export type DirectFailure =
  | { kind: "answered"; code: number; message: string; data: unknown }
  | { kind: "timeout" }
  | { kind: "aborted" }
  | { kind: "closed" }
  | { kind: "unsent"; cause: unknown };

interface Pending {
  readonly onProgress: DirectOptions["onProgress"];
  settle(outcome: { result: unknown } | DirectFailure): void;
}

/** Never clashes with ids of the SDK, which are numbers. */
const prefix = "a2e-";

/** The prefix of progress tokens of tasks; the rest of each token is random. */
export const taskTokenPrefix = `${prefix}task-`;

export class DirectRequests {
  readonly #send: (message: JSONRPCMessage) => Promise<void>;
  readonly #pending = new Map<string, Pending>();
  readonly #followed = new Map<string, DirectOptions["onProgress"]>();
  #count = 0;
  #isClosed = false;

  constructor(send: (message: JSONRPCMessage) => Promise<void>) {
    this.#send = send;
  }

  /** Resolves with the result, or rejects with a DirectFailure. */
  request(method: string, params: object, { signal, timeoutMs, meta, onProgress }: DirectOptions): Promise<unknown> {
    this.#count += 1;
    const id = `${prefix}${this.#count}`;
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject({ kind: "closed" } satisfies DirectFailure);
      if (signal.aborted) return reject({ kind: "aborted" } satisfies DirectFailure);
      const giveUp = (kind: "aborted" | "timeout") => {
        pending.settle({ kind });
        const reason = kind === "timeout" ? "timed out" : String((signal.reason as Error | undefined)?.message);
        const cancelled = { method: "notifications/cancelled", params: { requestId: id, reason } };
        this.#send({ jsonrpc: "2.0", ...cancelled }).catch(() => {});
      };
      const onAbort = () => giveUp("aborted");
      const timer = setTimeout(giveUp, timeoutMs, "timeout");
      const pending: Pending = {
        onProgress,
        settle: (outcome) => {
          if (!this.#pending.delete(id)) return;
          clearTimeout(timer);
          signal.removeEventListener("abort", onAbort);
          if ("result" in outcome) resolve(outcome.result);
          else reject(outcome);
        },
      };
      this.#pending.set(id, pending);
      signal.addEventListener("abort", onAbort);
      const request = {
        jsonrpc: "2.0",
        id,
        method,
        params: { ...params, _meta: { ...meta, progressToken: id } },
      } as const;
      this.#send(request).catch((cause: unknown) => pending.settle({ kind: "unsent", cause }));
    });
  }

  /** Receives progress for work that outlives its request, such as a task, until the returned function is called. */
  follow(token: string, onProgress: DirectOptions["onProgress"]): () => void {
    this.#followed.set(token, onProgress);
    return () => void this.#followed.delete(token);
  }

  /** True if the message belongs to one of these requests; then it is handled. */
  take(message: JSONRPCMessage): boolean {
    if ("method" in message) {
      if (message.method !== "notifications/progress") return false;
      const { progressToken, ...progress } = (message.params ?? {}) as Progress & { progressToken?: unknown };
      if (!isOurs(progressToken)) return false;
      const onProgress = this.#pending.get(progressToken)?.onProgress ?? this.#followed.get(progressToken);
      if (typeof progress.progress === "number") onProgress?.(progress);
      return true;
    }
    if (!isOurs(message.id)) return false;
    const pending = this.#pending.get(message.id);
    if ("result" in message) pending?.settle({ result: message.result });
    else {
      const {
        code,
        message: text,
        data,
      } = (message.error ?? {}) as { code?: unknown; message?: unknown; data?: unknown };
      pending?.settle({ kind: "answered", code: Number(code), message: String(text ?? ""), data });
    }
    return true;
  }

  close(): void {
    this.#isClosed = true;
    for (const pending of [...this.#pending.values()]) pending.settle({ kind: "closed" });
  }
}

function isOurs(id: unknown): id is string {
  return typeof id === "string" && id.startsWith(prefix);
}
