// The roles of a config: their schema, and the problems that only the tables of calls can show.
import { z } from "zod";
import { nearest } from "../machinery/nearest.ts";
import type { ConfigPath } from "../machinery/options/problem.ts";
import { knownCalls } from "../rights/known-calls.generated.ts";
import { parsePattern } from "../rights/pattern.ts";
import { findPatternProblem } from "../rights/pattern-check.ts";
import { builtInRoles, type RoleRules } from "../rights/roles.ts";

const patterns = z.array(z.string()).default([]);

const role = z.strictObject({
  allow: patterns.describe(
    'What the role may do. Calls: "tools/*", "tool/call", "memory:read", "*". Resources: "tool:read_*". Or both: "memory:read ns:team-*". Nothing listed is nothing allowed.',
  ),
  deny: patterns.describe(
    "What the role may not do, in the same patterns. It wins over every allow, also of other roles.",
  ),
});

export const roles = z.record(z.string(), role).default({});

export interface RoleProblem {
  readonly path: ConfigPath;
  readonly part: "key" | "value";
  readonly message: string;
  readonly suggestion?: string;
}

const roleName = /^[A-Za-z][\w.-]{0,63}$/;

/** `plugins` may bring capabilities whose calls are known only when they are loaded. */
export function findRoleProblems(
  roles: Readonly<Record<string, RoleRules>>,
  plugins: readonly { readonly type: string }[],
): RoleProblem[] {
  const known = new Set(knownCalls.flatMap(({ capabilities }) => capabilities));
  const further = plugins.map(({ type }) => type).filter((type) => !known.has(type));
  return Object.entries(roles).flatMap(([name, rules]) => [
    ...findNameProblem(name),
    ...(["allow", "deny"] as const).flatMap((effect) =>
      rules[effect].flatMap((text, index) => {
        const problem = explainPattern(text, further);
        return problem === undefined
          ? []
          : [{ path: ["roles", name, effect, index], part: "value" as const, ...problem }];
      }),
    ),
  ]);
}

function findNameProblem(name: string): RoleProblem[] {
  const at = { path: ["roles", name], part: "key" } as const;
  if (Object.hasOwn(builtInRoles, name))
    return [{ ...at, message: `the role "${name}" is built in and cannot be changed; choose another name` }];
  if (roleName.test(name)) return [];
  return [{ ...at, message: "expected a name of at most 64 letters, digits and . _ - that begins with a letter" }];
}

function explainPattern(
  text: string,
  further: readonly string[],
): { message: string; suggestion?: string } | undefined {
  const { pattern, problem } = parsePattern(text);
  if (pattern === undefined) return { message: `${problem}, found ${JSON.stringify(text.slice(0, 60))}` };
  const found = findPatternProblem(pattern, { calls: knownCalls, further });
  if (found === undefined) return undefined;
  const meant = nearest(found.word, found.candidates);
  return meant === undefined
    ? { message: found.message }
    : { message: found.message, suggestion: pattern.text.replace(found.word, () => meant) };
}
