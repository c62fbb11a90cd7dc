// What a session answers itself: the calls of the core table. Methods, not functions made for each session: there are
// thousands of sessions, and nearly all of them call one of these once.
import type { RequestOf } from "../protocol/capability.ts";
import type { cancel, core, handshake, merge, restore, snapshot } from "../protocol/core.ts";
import type { Handlers } from "./plugin.ts";
import type { Session } from "./session.ts";

export class SessionCore implements Handlers<typeof core> {
  readonly #session: Session;

  constructor(session: Session) {
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
    return this.#session.saveSnapshot(label);
  }

  restore({ snapshot_id }: RequestOf<typeof restore>) {
    return this.#session.restoreSnapshot(snapshot_id);
  }

  async listSnapshots() {
    return { snapshots: await this.#session.listSnapshots() };
  }

  async fork() {
    const { session, capabilities } = await this.#session.fork();
    return { session_id: session.id, capabilities };
  }

  replay() {
    return this.#session.replay();
  }

  async merge({ session_id }: RequestOf<typeof merge>) {
    return { capabilities: await this.#session.merge(session_id) };
  }
}
