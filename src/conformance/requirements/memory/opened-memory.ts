// A memory as the requirements about it use it.
import type { Message } from "../../../protocol/envelope.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { asObjects, checkEqual, checkType } from "../../check.ts";
import { type Peer, uniqueKey } from "../../peer.ts";

export const tiers = ["working", "episodic", "semantic"] as const;

export interface OpenMemory {
  readonly id: string;
  /** Stores entries and insists that all were. */
  store(...entries: object[]): Promise<JsonObject[]>;
  /** Stores entries and returns the answer, also if it is an error. */
  tryStore(...entries: object[]): Promise<Message>;
  find(fields?: object): Promise<{ entries: JsonObject[]; total: unknown }>;
  /** Contents of the entries found, in their order. */
  contents(fields?: object): Promise<unknown[]>;
  forget(fields: object): Promise<unknown>;
}

/** A memory in this session; by default in a namespace that no other requirement uses. */
export async function openMemory(peer: Peer, namespace = uniqueKey(peer), scope: object = {}): Promise<OpenMemory> {
  const init = checkType(await peer.request("memory/init/req", { namespace, scope }), "memory/init/resp");
  const memory_id = String(init.memory_id);
  const tryStore: OpenMemory["tryStore"] = (...entries) => peer.request("memory/store/req", { memory_id, entries });
  const find: OpenMemory["find"] = async (fields = {}) => {
    const answer = checkType(
      await peer.request("memory/retrieve/req", { memory_id, ...fields }),
      "memory/retrieve/resp",
    );
    return { entries: asObjects(answer.entries, "entries"), total: answer.total };
  };
  return {
    id: memory_id,
    tryStore,
    find,
    async store(...entries) {
      const answer = checkType(await tryStore(...entries), "memory/store/resp");
      checkEqual(answer.errors, [], "errors");
      return asObjects(answer.stored, "stored");
    },
    contents: async (fields) => (await find(fields)).entries.map(({ content }) => content),
    async forget(fields) {
      const answer = await peer.request("memory/forget/req", { memory_id, ...fields });
      return checkType(answer, "memory/forget/resp").deleted;
    },
  };
}
