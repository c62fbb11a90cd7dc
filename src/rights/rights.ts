// Decides which calls a principal may make. It is asked for every call, so decisions are kept per call and per name.
import type { Call } from "../protocol/table/capability.ts";
import { factsOf, type TableCall } from "./call-facts.ts";
import {
  type CallLayer,
  type Decision,
  decideName,
  decideWhole,
  isPassed,
  type ParsedLayer,
  parseLayer,
  toCallLayer,
} from "./layer.ts";
import { createResourceReader, type ReadResources, type ResolveResource, type Resources } from "./resources.ts";
import { findRole, type RightsData, type RoleRules } from "./roles.ts";

const unrestricted: Decision = { allowed: true, rule: undefined };

/** Names come from agents too, which could send a new one each time. */
const maxKeptNames = 1000;
const maxKeptNameLength = 256;

/** The rules for one call, compiled when it is first asked about. */
interface CallRights {
  readonly layers: readonly CallLayer[];
  readonly some: Decision;
  readonly every: Decision;
  readonly byName: Map<string, Decision>;
  readonly read: ReadResources;
}

export class Rights {
  /** Creates equal rights elsewhere: `new Rights(data)`. */
  readonly data: RightsData;
  readonly #layers: readonly ParsedLayer[];
  readonly #calls = new Map<Call, CallRights>();

  /** Throws if a pattern cannot be parsed. */
  constructor(data: RightsData) {
    this.data = data;
    this.#layers = data.layers.map(parseLayer);
  }

  get isEverything(): boolean {
    return this.#layers.length === 0;
  }

  /** Whether the call may be made about these resources. The rule is for the audit log. */
  decide(tableCall: TableCall, resources: Resources): Decision {
    if (this.#layers.length === 0 || tableCall.call.about.access === "none") return unrestricted;
    return decide(this.#rightsTo(tableCall), resources);
  }

  /** The same for a parsed request, whose resources are found by `about` of its table. */
  decideRequest(tableCall: TableCall, request: Readonly<Record<string, unknown>>, resolve?: ResolveResource): Decision {
    if (this.#layers.length === 0 || tableCall.call.about.access === "none") return unrestricted;
    const rights = this.#rightsTo(tableCall);
    return decide(rights, rights.read(request, resolve));
  }

  /** The items of a list that its caller may see, as `shows` of the listing call says. */
  filter<Item>(listing: TableCall, items: readonly Item[], nameOf: (item: Item) => string): readonly Item[] {
    const { about } = listing.call;
    if (this.#layers.length === 0 || about.resource === undefined) return items;
    const { capability } = listing;
    const usedBy = "shows" in about ? about.shows?.usedBy : undefined;
    const use = usedBy === undefined ? undefined : capability.calls[usedBy];
    const using = use === undefined || usedBy === undefined ? undefined : { capability, name: usedBy, call: use };
    const asked = using !== undefined && this.decide(using, "some").allowed ? [listing, using] : [listing];
    if (asked.every((call) => this.decide(call, "every").allowed)) return items;
    return items.filter((item) => asked.every((call) => this.decide(call, [nameOf(item)]).allowed));
  }

  /** The rights to do what both allow. */
  and(other: Rights): Rights {
    if (this.isEverything) return other;
    if (other.isEverything) return this;
    return new Rights({ layers: [...this.data.layers, ...other.data.layers] });
  }

  #rightsTo(tableCall: TableCall): CallRights {
    let rights = this.#calls.get(tableCall.call);
    if (rights === undefined) {
      const facts = factsOf(tableCall);
      const layers = this.#layers
        .filter((layer) => !isPassed(layer, facts))
        .map(({ rules }) => toCallLayer(rules, facts));
      rights = {
        layers,
        some: decideAll(layers, (layer) => decideWhole(layer, "some")),
        every: decideAll(layers, (layer) => decideWhole(layer, "every")),
        byName: new Map(),
        read: createResourceReader(tableCall.call.about),
      };
      this.#calls.set(tableCall.call, rights);
    }
    return rights;
  }
}

function decide(rights: CallRights, resources: Resources): Decision {
  if (typeof resources === "string") return rights[resources];
  if (resources.length === 0) return rights.every;
  let decision = unrestricted;
  for (const name of resources) {
    decision = rights.byName.get(name) ?? decideNew(rights, name);
    if (!decision.allowed) break;
  }
  return decision;
}

function decideNew({ layers, byName }: CallRights, name: string): Decision {
  const decision = decideAll(layers, (layer) => decideName(layer, name));
  if (name.length <= maxKeptNameLength) {
    if (byName.size >= maxKeptNames) byName.clear();
    byName.set(name, decision);
  }
  return decision;
}

function decideAll(layers: readonly CallLayer[], decideOne: (layer: CallLayer) => Decision): Decision {
  let first: Decision | undefined;
  for (const layer of layers) {
    const decision = decideOne(layer);
    if (!decision.allowed) return decision;
    first ??= decision;
  }
  return first ?? unrestricted;
}

/** The rights on a host without tokens. */
export const everything: Rights = new Rights({ layers: [] });

/** The rights of a principal with these roles. Throws if there is no such role: it must not end up with other rights. */
export function compileRights(roles: Readonly<Record<string, RoleRules>>, names: readonly string[]): Rights {
  const layer = names.map((name) => {
    const role = findRole(roles, name);
    if (role === undefined) throw new Error(`there is no role "${name}"`);
    return role;
  });
  return new Rights({ layers: [{ roles: layer }] });
}
