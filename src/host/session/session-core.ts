// What a session answers itself: the calls of the core table. Methods, not functions made for each session: there are
// thousands of sessions, and nearly all of them call one of these once.

import type { SessionSaving } from "../../durability/snapshots/session-saving.ts";
import type { RequestOf, ResultInputOf } from "../../protocol/capability.ts";
import type { cancel, core, handshake, merge, replay, restore, snapshot } from "../../protocol/core.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { Forking, Handlers } from "../plugin.ts";
import type { Sources } from "../sources.ts";
import type { HandshakeAnswer } from "./session-opening.ts";

/** What the core calls need of their session. */
export interface CorePort {
  readonly sources: Sources;
  shakeHands(request: RequestOf<typeof handshake>): HandshakeAnswer | Promise<HandshakeAnswer>;
  cancel(callId: string, reason: string): boolean;
  readonly saving: Pick<SessionSaving, "saveSnapshot" | "restoreSnapshot" | "listSnapshots">;
  fork(): Promise<{ session: { id: string }; capabilities: Record<string, Forking> }>;
  merge(forkId: string): Promise<ResultInputOf<typeof merge>["capabilities"]>;
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
    return this.#session.saving.saveSnapshot(label);
  }

  restore({ snapshot_id }: RequestOf<typeof restore>) {
    return this.#session.saving.restoreSnapshot(snapshot_id);
  }

  async listSnapshots() {
    return { snapshots: await this.#session.saving.listSnapshots() };
  }

  async fork() {
    const { session, capabilities } = await this.#session.fork();
    return { session_id: session.id, capabilities };
  }

  /** A host that records its sessions answers this in an interceptor. */
  replay(): ResultInputOf<typeof replay> {
    const message = "this session is not recorded: the host's config has no recording.enabled";
    throw new A2EError("runtime_error", message, { retryable: false });
  }

  async merge({ session_id }: RequestOf<typeof merge>) {
    return { capabilities: await this.#session.merge(session_id) };
  }
}
