// Why a call is allowed or refused, in words for the person who writes the roles.
import { type CallFacts, factsOf, shortType, type TableCall } from "./call-facts.ts";
import { decideLayer, isPassed, type ParsedRule, parseLayer, type Rule, toCallLayer } from "./layer.ts";
import { matchesCallName } from "./pattern.ts";
import type { Resources } from "./resources.ts";
import type { Rights } from "./rights.ts";
import type { RightsLayer } from "./roles.ts";

export interface Explanation {
  readonly allowed: boolean;
  /** The first line is the decision; the others are its reasons. */
  readonly lines: readonly string[];
}

export function explain(rights: Rights, tableCall: TableCall, resources: Resources): Explanation {
  const facts = factsOf(tableCall);
  const name = shortType(facts.type);
  if (facts.access === "none") return { allowed: true, lines: [`allowed: ${name}`, "the call needs no right"] };
  const question = `${name} ${describe(facts, resources)}`;
  const { layers } = rights.data;
  const reasons = layers.map((layer, index) => {
    const { allowed, lines } = explainLayer(layer, facts, resources);
    const place = layers.length === 1 ? "" : `layer ${index + 1} of ${layers.length}: `;
    return { allowed, lines: lines.map((line) => place + line) };
  });
  const refused = reasons.find(({ allowed }) => !allowed);
  const { lines } = refused ?? { lines: reasons.flatMap((reason) => reason.lines) };
  const because = layers.length === 0 ? ["these rights have no restriction"] : lines;
  return { allowed: refused === undefined, lines: [`${refused ? "refused" : "allowed"}: ${question}`, ...because] };
}

/** A rule for the audit log: `role agent: deny operate/*`. */
export function renderRule(rule: Rule | undefined): string {
  return rule === undefined ? "no role allows it" : `role ${rule.role}: ${rule.effect} ${rule.pattern}`;
}

function describe({ access, resource }: CallFacts, resources: Resources): string {
  const verb = access === "read" ? "reads" : "writes";
  if (resource === undefined) return verb;
  if (resources === "every") return `${verb} any ${resource}`;
  if (resources === "some") return `${verb} some ${resource}`;
  return `${verb} ${resources.map((name) => `${resource}:${name}`).join(", ")}`;
}

function explainLayer(layer: RightsLayer, facts: CallFacts, resources: Resources): Explanation {
  const { roles, kind } = layer;
  if (isPassed({ kind }, facts)) return { allowed: true, lines: [`restricts only calls about a ${kind}`] };
  const { rules } = parseLayer(layer);
  const { allowed, rule } = decideLayer(toCallLayer(rules, facts), resources);
  if (rule !== undefined) {
    const verb = rule.effect === "allow" ? "allows" : "denies";
    return { allowed, lines: [`role "${rule.role}" ${verb} it with "${rule.pattern}"`] };
  }
  const names = roles.map(({ name }) => `"${name}"`).join(", ");
  const none = names === "" ? "there are no roles" : `no pattern of role ${names} allows it`;
  return { allowed, lines: [none, ...rules.flatMap((candidate) => explainMiss(candidate, facts, resources))] };
}

/** Why an allow that is for this call, or for calls like it, does not allow it. */
function explainMiss({ rule, pattern }: ParsedRule, facts: CallFacts, resources: Resources): string[] {
  const { calls, resource } = pattern;
  if (rule.effect === "deny" || (calls !== undefined && !matchesCallName(calls, facts))) return [];
  const miss = (reason: string) => [`allow "${pattern.text}" ${reason}`];
  if (calls?.access !== undefined && calls.access !== facts.access) return miss(`is for calls that ${calls.access}`);
  if (resource === undefined) return [];
  if (facts.resource === undefined) return calls === undefined ? [] : miss("is for calls that name a resource");
  if (resource.kind !== facts.resource) return calls === undefined ? [] : miss(`is about another kind of resource`);
  if (resources === "every") return miss(`does not cover every ${facts.resource}, and the request names none`);
  return miss(`is for other names`);
}
