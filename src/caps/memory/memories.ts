// The memories of one session: which namespaces it opened under which scopes, and what of them is whose.
import { createHash } from "node:crypto";
import type { SessionContext } from "../../host/plugin.ts";
import { localPrefix, type SessionState } from "../../host/session/session-state.ts";
import type { JsonObject } from "../../protocol/json.ts";
import { canonicalJson } from "./key.ts";
import type { View } from "./persistent/memory-store.ts";
import { memory } from "./protocol.ts";

export interface Memory {
  readonly id: string;
  readonly namespace: string;
  /** Canonical JSON. */
  readonly scope: string;
}

const memoriesKey = `${localPrefix}memories`;
const currentKey = `${localPrefix}current`;
const overlaysKey = `${localPrefix}overlays`;
const identityKey = `${localPrefix}identity`;

/** The same everywhere for the same namespace and scope; worth nothing in a session that has not initialised it. */
function toMemory(namespace: string, scope: Readonly<Record<string, string>>): Memory {
  const canonicalScope = canonicalJson(scope);
  const digest = createHash("sha256")
    .update(JSON.stringify([namespace, canonicalScope]))
    .digest("hex");
  return { id: `mem_${digest.slice(0, 24)}`, namespace, scope: canonicalScope };
}

function toSessionOwner(identity: string): string {
  return JSON.stringify(["session", identity]);
}

/** What the fork with this state and those before it wrote lies in these, oldest first. */
export function overlaysOf(state: SessionState): string[] {
  return (state.get(overlaysKey) as string[] | undefined) ?? [];
}

export class Memories {
  readonly #context: SessionContext;
  readonly #state: SessionState;
  readonly #maxMemories: number;
  readonly #onOwner: (owner: string) => void;
  readonly #standard = toMemory("default", {});

  /** `onOwner` is told once where the session owns something as itself, since its agent has no id. */
  constructor(context: SessionContext, maxMemories: number, onOwner: (owner: string) => void) {
    this.#context = context;
    this.#state = context.state;
    this.#maxMemories = maxMemories;
    this.#onOwner = onOwner;
    if (this.agent === "" && this.#state.get(identityKey) !== undefined) onOwner(this.#owner());
  }

  /** The id of the agent that acts here; empty where it has none. */
  get agent(): string {
    return this.#context.session.principal.id;
  }

  get overlays(): string[] {
    return overlaysOf(this.#state);
  }

  init(namespace: string, scope: Readonly<Record<string, string>>): Memory {
    const opened = toMemory(namespace, scope);
    const known = this.#known();
    if (!Object.hasOwn(known, opened.id) && Object.keys(known).length >= this.#maxMemories)
      throw memory.error("memory_full", `a session initialises at most ${this.#maxMemories} memories`);
    const { id, ...rest } = opened;
    this.#state.set(memoriesKey, { ...known, [id]: rest });
    this.#state.set(currentKey, id);
    return opened;
  }

  get(memoryId: string): Memory {
    const id = memoryId === "" ? (this.#state.get(currentKey) as string | undefined) : memoryId;
    if (id === undefined || id === this.#standard.id) return this.#standard;
    const known = this.#known();
    if (!Object.hasOwn(known, id))
      throw memory.error("memory_not_found", "this session has no such memory; initialise it with memory/init first", {
        detail: { memory_id: memoryId },
      });
    return { id, ...(known[id] as unknown as Omit<Memory, "id">) };
  }

  viewOf({ namespace, scope }: Memory, tier: "episodic" | "semantic"): View {
    // Namespaces as JSON, for the reason that keys are.
    const owner = tier === "semantic" ? "" : this.#owner();
    return { space: { tier, owner, namespace: JSON.stringify(namespace), scope }, overlays: this.overlays };
  }

  /** Prepares the state of a fork: what it writes goes above what this session sees. */
  fork(forked: SessionState, overlay: string): void {
    // Also where nothing was asked yet: a fork is the same agent.
    if (this.agent === "") forked.set(identityKey, this.#identity());
    forked.set(overlaysKey, [...this.overlays, overlay]);
  }

  /** Agents without an id have nothing in common but that: each of their sessions is an agent of its own. */
  #owner(): string {
    return this.agent === "" ? toSessionOwner(this.#identity()) : JSON.stringify(["agent", this.agent]);
  }

  #identity(): string {
    const known = this.#state.get(identityKey);
    if (typeof known === "string") return known;
    const identity = this.#context.nextId();
    this.#state.set(identityKey, identity);
    this.#onOwner(toSessionOwner(identity));
    return identity;
  }

  #known(): JsonObject {
    return (this.#state.get(memoriesKey) as JsonObject | undefined) ?? {};
  }
}
