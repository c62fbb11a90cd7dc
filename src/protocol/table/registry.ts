// The type registry: every message type of a set of tables, with its table entry.

import { core } from "../core.ts";
import type { Call, Capability, Push } from "./capability.ts";

export type TypeEntry =
  | {
      readonly kind: "request";
      readonly capability: Capability;
      readonly name: string;
      readonly call: Call;
      readonly responseType: string;
    }
  | {
      readonly kind: "response";
      readonly capability: Capability;
      readonly call: Call;
      /**
       * The request that a message without req_id of this type stands for: some peers give a request the type of its
       * answer.
       */
      readonly asRequest?: Extract<TypeEntry, { kind: "request" }>;
    }
  | { readonly kind: "event"; readonly capability: Capability }
  | { readonly kind: "push"; readonly capability: Capability; readonly push: Push }
  /** A question to the agent, or its answer: some peers give the answer the type of the question. */
  | { readonly kind: "ask"; readonly capability: Capability; readonly call: Call }
  | { readonly kind: "shutdown" }
  | { readonly kind: "error" };

export type TypeRegistry = ReadonlyMap<string, TypeEntry>;

/** Capabilities may share a type of events, and may push a type that others send as an event of a call. */
function mayShare({ kind: first }: TypeEntry, { kind: second }: TypeEntry): boolean {
  if (first === "event") return second === "event" || second === "push";
  return first === "push" && second === "event";
}

/** Builds the registry once per host or client. Throws if two tables declare the same type. */
export function createTypeRegistry(capabilities: Iterable<Capability>): TypeRegistry {
  const registry = new Map<string, TypeEntry>([
    ["shutdown", { kind: "shutdown" }],
    ["error", { kind: "error" }],
  ]);
  const add = (type: string, entry: TypeEntry) => {
    const known = registry.get(type);
    if (known !== undefined && !mayShare(known, entry)) throw new Error(`message type "${type}" is declared twice`);
    registry.set(type, entry);
  };
  for (const capability of new Set<Capability>([core, ...capabilities])) {
    add(capability.event, { kind: "event", capability });
    for (const [name, call] of Object.entries(capability.calls)) {
      add(call.type, { kind: "request", capability, name, call, responseType: call.responseType });
      add(call.responseType, { kind: "response", capability, call });
      for (const [alias, responseType] of Object.entries(call.aliases)) {
        const asRequest = { kind: "request", capability, name, call, responseType } as const;
        if (alias === call.responseType) {
          registry.set(alias, { kind: "response", capability, call, asRequest });
          continue;
        }
        add(alias, asRequest);
        if (!registry.has(responseType)) add(responseType, { kind: "response", capability, call });
      }
    }
    for (const call of Object.values(capability.asks)) {
      const types = [call.type, call.responseType, ...Object.entries(call.aliases).flat()];
      for (const type of new Set(types)) add(type, { kind: "ask", capability, call });
    }
    for (const push of Object.values(capability.pushes)) {
      for (const type of [push.type, ...push.aliases]) add(type, { kind: "push", capability, push });
    }
  }
  return registry;
}
