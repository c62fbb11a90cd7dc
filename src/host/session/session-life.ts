// The life cycle of a session. `transitions` has all changes of state; an event without an entry for the current state
// is ignored. docs/guide/sessions.md has the same diagram for users, with the four names of `SessionStatus`.
//
//        created                recovered or forked
//           │                            │
//           ▼           admit            ▼
//        ┌─────┐ ─────────────►  ┌──────┐ ◄───── ┌───────────┐
//        │ new │                 │ open │  admit │ continued │
//        └──┬──┘                 └──┬───┘        └─────┬─────┘
//           └───────────────────────┼──────────────────┘
//                     end           │          leave
//              ┌────────────────────┴──────────────────┐
//              ▼                                       ▼
//         ┌────────┐                              ┌─────────┐
//         │ ending │                              │ leaving │      status "closing": calls in flight may finish
//         └───┬────┘                              └────┬────┘
//             │ finish                                 │ finish
//             ▼                                        ▼
//          ┌──────┐     ┌─────────┐                ┌──────┐
//          │ gone │     │ dropped │                │ left │        status "closed": no handler runs
//          └──────┘     └─────────┘                └──────┘
//                            ▲
//                            └── drop, from every state that is not closed
//
// `end` is final: the agent cannot resume the session. `leave` happens if the host stops: with a journal, the next host
// recovers the session. A session is dropped if the journal could not write a turn: it is closed here, and may be
// recovered.

export type LifeState = "new" | "continued" | "open" | "ending" | "leaving" | "gone" | "left" | "dropped";

export type LifeEvent =
  /** The agent is let in and its plugins are open. Happens again if a later handshake adds capabilities. */
  | "admit"
  | "end"
  | "leave"
  /** Everything is sent and saved. */
  | "finish"
  /** The journal could not write a turn. */
  | "drop";

export type SessionStatus = "new" | "open" | "closing" | "closed";

/** Plugins may finish opening while the session closes already: `admit` changes nothing then. */
export const transitions: Readonly<Record<LifeState, Readonly<Partial<Record<LifeEvent, LifeState>>>>> = {
  new: { admit: "open", end: "ending", leave: "leaving", drop: "dropped" },
  continued: { admit: "open", end: "ending", leave: "leaving", drop: "dropped" },
  open: { end: "ending", leave: "leaving", drop: "dropped" },
  ending: { finish: "gone", drop: "dropped" },
  leaving: { finish: "left", drop: "dropped" },
  gone: {},
  left: {},
  dropped: {},
};

const statusOf: Readonly<Record<LifeState, SessionStatus>> = {
  new: "new",
  continued: "new",
  open: "open",
  ending: "closing",
  leaving: "closing",
  gone: "closed",
  left: "closed",
  dropped: "closed",
};

export class SessionLife {
  #state: LifeState;
  /** Kept beside the state, because every call reads it. */
  #status: SessionStatus;

  constructor(start: "new" | "continued") {
    this.#state = start;
    this.#status = statusOf[start];
  }

  get state(): LifeState {
    return this.#state;
  }

  get status(): SessionStatus {
    return this.#status;
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  get isClosed(): boolean {
    return this.#status === "closed";
  }

  /** An agent has completed the handshake, in this process or before: no other principal may take over the session. */
  get hasOwner(): boolean {
    return this.#state === "open" || this.#state === "continued";
  }

  /** False if the event does not apply in the present state. */
  apply(event: LifeEvent): boolean {
    const next = transitions[this.#state][event];
    if (next === undefined) return false;
    this.#state = next;
    this.#status = statusOf[next];
    return true;
  }
}
