// Sessions of remote peers that wait for their handshake. A peer without a credential can create any number of them, so they
// have a small limit of their own and never take the place of sessions that an agent has opened: if the limit is reached,
// another waiting session is closed, one of the address that has the most.
import type { Limits } from "../../protocol/limits.ts";
import type { Session } from "../session.ts";

type UnopenedLimits = Pick<Limits, "maxUnopenedSessions" | "maxUnopenedPerAddress">;

export class UnopenedSessions {
  readonly #limits: UnopenedLimits;
  /** By address, oldest first. */
  readonly #waiting = new Map<string, Set<Session>>();
  readonly #addresses = new Map<Session, string>();

  constructor(limits: UnopenedLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#addresses.size;
  }

  add(session: Session, address: string): void {
    const own = this.#waiting.get(address) ?? new Set();
    if (own.size >= this.#limits.maxUnopenedPerAddress) this.#evict(own);
    else if (this.size >= this.#limits.maxUnopenedSessions) this.#evict(this.#largest());
    own.add(session);
    this.#waiting.set(address, own);
    this.#addresses.set(session, address);
  }

  /** The session was opened or has ended. Returns false if it did not wait here. */
  delete(session: Session): boolean {
    const address = this.#addresses.get(session);
    if (address === undefined) return false;
    this.#addresses.delete(session);
    const own = this.#waiting.get(address);
    own?.delete(session);
    if (own?.size === 0) this.#waiting.delete(address);
    return true;
  }

  #largest(): ReadonlySet<Session> {
    let largest: ReadonlySet<Session> = new Set();
    for (const sessions of this.#waiting.values()) if (sessions.size > largest.size) largest = sessions;
    return largest;
  }

  /** Closes the oldest session that no transport reads, or else the oldest: an agent that connects reads soon. */
  #evict(sessions: ReadonlySet<Session>): void {
    const [oldest] = sessions;
    let evicted = oldest;
    for (const session of sessions) {
      if (session.readerCount > 0) continue;
      evicted = session;
      break;
    }
    if (evicted === undefined) return;
    this.delete(evicted);
    void evicted.close("too many sessions wait for a handshake");
  }
}
