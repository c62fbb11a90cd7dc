// The memories that one session has opened, each a namespace with a scope, and the owner of their entries.

import { createHash } from "node:crypto";
import type { SessionContext } from "../../plugin/plugin.ts";
import { ownerOf } from "../../plugin/principal.ts";
import { localPrefix, type SessionState } from "../../plugin/session-state.ts";
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

/**
 * The same namespace and scope always give the same id. The id alone gives no access: a session must initialise the
 * memory.
 */
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

/** The overlays that the fork with this state writes and reads, oldest first; the last is its own. */
export function overlaysOf(state: SessionState): string[] {
  return (state.get(overlaysKey) as string[] | undefined) ?? [];
}

export class Memories {
  readonly #context: SessionContext;
  readonly #state: SessionState;
  readonly #maxMemories: number;
  readonly #onOwner: (owner: string) => void;
  readonly #standard = toMemory("default", {});

  /** `onOwner` is called once if the session itself owns entries, since its agent has no id. */
  constructor(context: SessionContext, maxMemories: number, onOwner: (owner: string) => void) {
    this.#context = context;
    this.#state = context.state;
    this.#maxMemories = maxMemories;
    this.#onOwner = onOwner;
    if (this.agent === "" && this.#state.get(identityKey) !== undefined) onOwner(this.#owner());
  }

  /** The id of the session's agent; empty if it has no id. */
  get agent(): string {
    return ownerOf(this.#context.session.principal);
  }

  get overlays(): string[] {
    return overlaysOf(this.#state);
  }

  init(namespace: string, scope: Readonly<Record<string, string>>): Memory {
    const opened = toMemory(namespace, scope);
    const known = this.#known();
    if (!Object.hasOwn(known, opened.id) && Object.keys(known).length >= this.#maxMemories)
      throw memory.error("memory_full", `a session may initialise at most ${this.#maxMemories} memories`);
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

  /** The namespace of a memory; undefined if this session has no such memory. */
  namespaceOf(memoryId: string): string | undefined {
    const id = memoryId === "" ? this.#state.get(currentKey) : memoryId;
    if (id === undefined || id === this.#standard.id) return this.#standard.namespace;
    const known = this.#known();
    return typeof id === "string" && Object.hasOwn(known, id) ? this.get(id).namespace : undefined;
  }

  viewOf({ namespace, scope }: Memory, tier: "episodic" | "semantic"): View {
    // The namespace as JSON, for the same reason as keys (see key.ts).
    const owner = tier === "semantic" ? "" : this.#owner();
    return { space: { tier, owner, namespace: JSON.stringify(namespace), scope }, overlays: this.overlays };
  }

  /** Prepares the state of a fork: its writes go to an overlay above the entries of this session. */
  fork(forked: SessionState, overlay: string): void {
    // Even if this session has no identity yet: a fork acts as the same agent.
    if (this.agent === "") forked.set(identityKey, this.#identity());
    forked.set(overlaysKey, [...this.overlays, overlay]);
  }

  /** Agents without an id are strangers to each other, so each of their sessions is an owner of its own. */
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
