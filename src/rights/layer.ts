// One layer of rights: the roles of a principal, or those of one narrowing. See RightsData.
import type { CallFacts } from "./call-facts.ts";
import { createNameMatcher, isEveryName, matchesCall, type Pattern, parsePattern } from "./pattern.ts";
import type { Resources } from "./resources.ts";
import type { RightsLayer } from "./roles.ts";

/** A pattern of a role, as a decision reports it. */
export interface Rule {
  readonly role: string;
  readonly effect: "allow" | "deny";
  readonly pattern: string;
}

export interface Decision {
  readonly allowed: boolean;
  /** The rule that decided; undefined if nothing restricts the call, or if no rule allows it. */
  readonly rule: Rule | undefined;
}

export interface ParsedRule {
  readonly rule: Rule;
  readonly pattern: Pattern;
}

export interface ParsedLayer {
  readonly rules: readonly ParsedRule[];
  readonly kind: string | undefined;
}

/** Throws if a pattern cannot be parsed: a deny that is ignored would allow. */
export function parseLayer({ roles, kind }: RightsLayer): ParsedLayer {
  const parse = (role: string, effect: Rule["effect"], text: string): ParsedRule => {
    const { pattern, problem } = parsePattern(text);
    if (pattern === undefined) throw new Error(`role "${role}": ${effect} ${JSON.stringify(text)}: ${problem}`);
    return { rule: { role, effect, pattern: pattern.text }, pattern };
  };
  const rules = roles.flatMap(({ name, allow, deny }) => [
    ...deny.map((text) => parse(name, "deny", text)),
    ...allow.map((text) => parse(name, "allow", text)),
  ]);
  return { rules, kind };
}

/** Whether the layer is for calls of another kind, so that this call passes it. */
export function isPassed({ kind }: Pick<ParsedLayer, "kind">, facts: CallFacts): boolean {
  return kind !== undefined && kind !== facts.resource;
}

interface CallRule {
  readonly decision: Decision;
  /** It matches every resource that the call can be about. */
  readonly isForEvery: boolean;
  readonly matchesName: (name: string) => boolean;
}

/** The rules of a layer that are for one call. */
export interface CallLayer {
  readonly deny: readonly CallRule[];
  readonly allow: readonly CallRule[];
}

export function toCallLayer(rules: readonly ParsedRule[], facts: CallFacts): CallLayer {
  const select = (effect: Rule["effect"]) =>
    rules
      .filter(({ rule, pattern }) => rule.effect === effect && matchesCall(pattern, facts))
      .map(({ rule, pattern: { resource } }) => ({
        decision: { allowed: effect === "allow", rule },
        isForEvery: resource === undefined || isEveryName(resource.name),
        matchesName: resource === undefined ? () => true : createNameMatcher(resource.name),
      }));
  return { deny: select("deny"), allow: select("allow") };
}

const nothingAllows: Decision = { allowed: false, rule: undefined };

export function decideName({ deny, allow }: CallLayer, name: string): Decision {
  for (const { decision, matchesName } of deny) if (matchesName(name)) return decision;
  for (const { decision, matchesName } of allow) if (matchesName(name)) return decision;
  return nothingAllows;
}

/**
 * `every`: refused if any resource is denied, allowed if all are. `some`: refused only if all are denied, allowed if any
 * may be.
 */
export function decideWhole({ deny, allow }: CallLayer, resources: "some" | "every"): Decision {
  const isSome = resources === "some";
  const denied = deny.find(({ isForEvery }) => !isSome || isForEvery);
  const allowed = allow.find(({ isForEvery }) => isSome || isForEvery);
  return (denied ?? allowed)?.decision ?? nothingAllows;
}

export function decideLayer(layer: CallLayer, resources: Resources): Decision {
  if (typeof resources === "string") return decideWhole(layer, resources);
  let decision = nothingAllows;
  for (const name of resources) {
    decision = decideName(layer, name);
    if (!decision.allowed) return decision;
  }
  return decision;
}
