// The patterns of roles. A pattern is for calls, for a resource, or for both, separated by a space:
//
//   *                        every call
//   tools/*                  the calls of a capability
//   planning/plan/*          calls by their type, without /req
//   memory:read   *:read     the calls of a capability, or all, that read
//   tool:read_*              all calls about these tools
//   memory:read ns:team-*    calls that read, about these namespaces
import type { Access } from "../protocol/table/about.ts";
import { createWildcard } from "../protocol/wildcards/wildcard.ts";
import { type CallFacts, callNames } from "./call-facts.ts";

export interface Pattern {
  readonly text: string;
  /** Undefined in a pattern for a resource alone. */
  readonly calls: CallPattern | undefined;
  readonly resource: ResourcePattern | undefined;
}

interface CallPattern {
  /** A wildcard for names of calls, or, if `isCapability`, a capability. */
  readonly name: string;
  readonly isCapability: boolean;
  readonly access: Access | undefined;
}

interface ResourcePattern {
  readonly kind: string;
  /** A wildcard for names of resources. */
  readonly name: string;
}

export type ParsedPattern =
  | { readonly pattern: Pattern; readonly problem?: undefined }
  | { readonly problem: string; readonly pattern?: undefined };

const patternForms = 'calls such as "tools/*" or "memory:read", a resource such as "tool:read_*", or both';

/** The longest pattern: matching takes time that grows with it. */
const maxPatternLength = 512;

/** Knows no tables: whether any call fits is for `findPatternProblem` to say. */
export function parsePattern(text: string): ParsedPattern {
  const written = text.trim();
  if (written.length > maxPatternLength)
    return { problem: `expected a pattern of at most ${maxPatternLength} characters` };
  const [, first = "", rest = ""] = /^(\S*)\s*([\s\S]*)$/.exec(written) ?? [];
  const calls = parseCalls(first);
  // A name may have spaces: "ns:team notes" is a resource alone.
  const resource = parseResource(calls === undefined ? written : rest);
  if (resource === undefined && (calls === undefined || rest !== "")) return { problem: `expected ${patternForms}` };
  return { pattern: { text: written, calls, resource } };
}

/** A word with a slash, the word `*`, or a capability with an access. Anything else begins a resource. */
function parseCalls(word: string): CallPattern | undefined {
  const [, name = "", access] = /^([\w*?/-]+)(?::(read|write))?$/.exec(word) ?? [];
  if (name === "") return undefined;
  const isCapability = name !== "*" && !name.includes("/");
  if (isCapability && access === undefined) return undefined;
  return { name, isCapability, access: access as Access | undefined };
}

function parseResource(text: string): ResourcePattern | undefined {
  const [, kind, name] = /^([a-z][a-z0-9_]*):([\s\S]+)$/.exec(text) ?? [];
  return kind === undefined || name === undefined ? undefined : { kind, name };
}

/** Whether a pattern is for this call, about some resource at least. */
export function matchesCall({ calls, resource }: Pattern, facts: CallFacts): boolean {
  if (resource !== undefined && resource.kind !== facts.resource) return false;
  if (calls === undefined) return true;
  if (calls.access !== undefined && calls.access !== facts.access) return false;
  return matchesCallName(calls, facts);
}

export function matchesCallName({ name, isCapability }: CallPattern, facts: CallFacts): boolean {
  if (name === "*") return true;
  return isCapability ? facts.capabilities.includes(name) : callNames(facts).some(createWildcard(name, wildcards));
}

const wildcards = { questionMark: true, sets: true };

/** Whether a pattern of names matches every name. */
export function isEveryName(pattern: string): boolean {
  return /^\*+$/.test(pattern);
}

/** The common forms are compared directly: this is done for every new name that a peer sends. */
export function createNameMatcher(pattern: string): (name: string) => boolean {
  if (isEveryName(pattern)) return () => true;
  const [, first = "", plain, last = ""] = /^(\*?)([^*?[\\]+)(\*?)$/.exec(pattern) ?? [];
  if (plain !== undefined && first + last === "") return (name) => name === plain;
  if (plain !== undefined && first === "") return (name) => name.startsWith(plain);
  if (plain !== undefined && last === "") return (name) => name.endsWith(plain);
  return createWildcard(pattern, wildcards);
}
