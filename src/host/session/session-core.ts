// The core calls that a session answers itself. They are methods of a class, not functions created for each session,
// because a host may have thousands of sessions and most of them make only one of these calls.

import type { Forking, Handlers } from "../../plugin/plugin.ts";
import type { cancel, core, handshake, merge, replay, restore, snapshot, token } from "../../protocol/core.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { RequestOf, ResultInputOf } from "../../protocol/table/capability.ts";
import type { StoredSnapshot } from "../ports/snapshot-store.ts";
import type { Sources } from "../sources.ts";
import type { HandshakeAnswer } from "./session-opening.ts";

export type SnapshotResult = ResultInputOf<typeof snapshot>;
export type RestoreResult = ResultInputOf<typeof restore>;
export type MergeResult = ResultInputOf<typeof merge>["capabilities"];

/** The session, from the side of the core calls. */
export interface CorePort {
  readonly sources: Sources;
  shakeHands(request: RequestOf<typeof handshake>): HandshakeAnswer | Promise<HandshakeAnswer>;
  cancel(callId: string, reason: string): boolean;
  /** Throws an A2EError if this host has no credentials, or if a caveat is not valid. */
  mintToken(caveats: RequestOf<typeof token>): string;
  readonly kept: KeptCalls;
}

/** The core calls that save and copy a session. */
export interface KeptCalls {
  saveSnapshot(label: string | undefined): Promise<SnapshotResult>;
  restoreSnapshot(snapshotId: string | undefined): Promise<RestoreResult>;
  listSnapshots(): Promise<StoredSnapshot[]>;
  readonly forking: {
    fork(): Promise<{ sessionId: string; capabilities: Record<string, Forking> }>;
    merge(forkId: string): Promise<MergeResult>;
  };
}

export class SessionCore implements Handlers<typeof core> {
  readonly #session: CorePort;

  constructor(session: CorePort) {
    this.#session = session;
  }

  handshake(request: RequestOf<typeof handshake>) {
    return this.#session.shakeHands(request);
  }

  ping() {
    const { clock, startedAt } = this.#session.sources;
    return { uptime_seconds: (clock.now() - startedAt) / 1000 };
  }

  cancel({ call_id, reason }: RequestOf<typeof cancel>) {
    return { cancelled: this.#session.cancel(call_id, reason) };
  }

  snapshot({ label }: RequestOf<typeof snapshot>) {
    return this.#session.kept.saveSnapshot(label);
  }

  restore({ snapshot_id }: RequestOf<typeof restore>) {
    return this.#session.kept.restoreSnapshot(snapshot_id);
  }

  async listSnapshots() {
    return { snapshots: await this.#session.kept.listSnapshots() };
  }

  async fork() {
    const { sessionId, capabilities } = await this.#session.kept.forking.fork();
    return { session_id: sessionId, capabilities };
  }

  /** A host that records its sessions answers this in an interceptor. */
  replay(): ResultInputOf<typeof replay> {
    const message = "this session is not recorded: the host's config has no recording.enabled";
    throw new A2EError("runtime_error", message, { retryable: false });
  }

  token(caveats: RequestOf<typeof token>) {
    return { token: this.#session.mintToken(caveats) };
  }

  async merge({ session_id }: RequestOf<typeof merge>) {
    return { capabilities: await this.#session.kept.forking.merge(session_id) };
  }
}
