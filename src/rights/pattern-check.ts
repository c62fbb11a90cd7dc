// Checks patterns against the calls that exist, so that a misspelt pattern is an error and not a silent refusal.
import { type CallFacts, callNames } from "./call-facts.ts";
import { matchesCall, matchesCallName, type Pattern } from "./pattern.ts";

export interface PatternProblem {
  readonly message: string;
  /** The part that does not exist, and words that could have been meant. */
  readonly word: string;
  readonly candidates: readonly string[];
}

export interface KnownCalls {
  readonly calls: readonly CallFacts[];
  /** Capabilities whose calls are not known yet, such as those of plugins that are not loaded: anything may be theirs. */
  readonly further: readonly string[];
}

/** The problem of a pattern that no call can match; undefined if there is none. */
export function findPatternProblem(pattern: Pattern, known: KnownCalls): PatternProblem | undefined {
  return findAmbiguity(pattern, known) ?? findUnknownCalls(pattern, known) ?? findUnknownKind(pattern, known);
}

/** `proc:write` could be the calls of `proc` that write, or the program `write`. */
function findAmbiguity({ calls, resource, text }: Pattern, { calls: facts }: KnownCalls): PatternProblem | undefined {
  if (calls === undefined || !calls.isCapability || resource !== undefined) return undefined;
  if (!facts.some((fact) => fact.resource === calls.name)) return undefined;
  const capability = facts.find(({ capabilities }) => capabilities.includes(calls.name))?.capabilities[0];
  const access = calls.access ?? "read";
  const ofCalls = capability === undefined ? "" : `"${capability}/*:${access}" for the calls that ${access}, or `;
  return { message: `can be read in two ways: write ${ofCalls}"* ${text}" for ${text}`, word: text, candidates: [] };
}

function findUnknownCalls({ calls }: Pattern, { calls: facts, further }: KnownCalls): PatternProblem | undefined {
  if (calls === undefined || facts.some((fact) => matchesCallName(calls, fact))) return undefined;
  const [head = ""] = calls.name.split("/");
  if (further.includes(head) || (further.length > 0 && /[*?[]/.test(head))) return undefined;
  const capabilities = [...new Set(facts.flatMap((fact) => fact.capabilities))];
  if (calls.isCapability) return { message: `no capability is called "${head}"`, word: head, candidates: capabilities };
  // "tool/*" for "tols/*": if the capability is misspelt, its name is the word to correct.
  const names = facts.flatMap(callNames);
  const heads = new Set([...capabilities, ...names.map((name) => name.split("/")[0] ?? "")]);
  const isHead = !heads.has(head);
  return {
    message: `no call matches "${calls.name}"`,
    word: isHead ? head : calls.name,
    candidates: isHead ? [...heads] : names,
  };
}

function findUnknownKind(pattern: Pattern, { calls: facts, further }: KnownCalls): PatternProblem | undefined {
  const { calls, resource } = pattern;
  if (facts.some((fact) => matchesCall(pattern, fact)) || further.length > 0) return undefined;
  const kinds = [...new Set(facts.flatMap((fact) => fact.resource ?? []))];
  if (resource !== undefined && !kinds.includes(resource.kind))
    return {
      message: `no call is about a resource of the kind "${resource.kind}"`,
      word: resource.kind,
      candidates: kinds,
    };
  const clauses = [
    ...(calls?.access === undefined ? [] : [`${calls.access}s`]),
    ...(resource === undefined ? [] : [`is about a "${resource.kind}"`]),
  ];
  return {
    message: `no call that matches "${calls?.name ?? "*"}" ${clauses.join(" and ")}`,
    word: pattern.text,
    candidates: [],
  };
}
