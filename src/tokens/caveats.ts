// Caveats: the restrictions that a holder adds to a token. A token allows what all of its caveats allow.

/** Amounts that a token may use up in all, summed over every token that is narrowed from it. */
export interface TokenBudget {
  readonly calls?: number;
  readonly env_steps?: number;
  readonly process_seconds?: number;
  readonly tokens?: number;
  readonly cost_usd?: number;
  readonly bytes_stored?: number;
}

/**
 * The caveats of one link. Lists hold patterns of names as in roles: `*` stands for any characters. An empty list allows
 * nothing. A caveat restricts only its own kind: `{ tools: ["read_*"] }` alone leaves environments as they are.
 */
export interface Caveats {
  readonly capabilities?: readonly string[];
  readonly tools?: readonly string[];
  /** Of memory. */
  readonly namespaces?: readonly string[];
  readonly environments?: readonly string[];
  readonly budget?: TokenBudget;
  /** How many generations of subagents the holder may start; 0 for none. */
  readonly depth?: number;
  /** In seconds since 1970. */
  readonly expires_at?: number;
  /** Names of the hosts that may accept the token: full names, without wildcards. */
  readonly audience?: readonly string[];
  /** Restricts nothing. Gives two tokens with the same caveats different ids, so that each has its own budget. */
  readonly nonce?: string;
}

/** Returns the problem of a value, if it has one. */
type Check = (value: unknown) => string | undefined;

/** The longest pattern that is accepted: matching takes time that grows with it. */
const maxNameLength = 256;

/** Without spaces around a name: the patterns of roles ignore them, which would make another name of it. */
const isName = (value: unknown): boolean =>
  typeof value === "string" && value !== "" && value.length <= maxNameLength && value.trim() === value;

const names: Check = (value) =>
  Array.isArray(value) && value.every(isName)
    ? undefined
    : `must be a list of names of up to ${maxNameLength} characters`;

const amount: Check = (value) =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? undefined : "must be a number of at least 0";

const budgetChecks: Record<keyof TokenBudget, Check> = {
  calls: amount,
  env_steps: amount,
  process_seconds: amount,
  tokens: amount,
  cost_usd: amount,
  bytes_stored: amount,
};

const checks: Record<keyof Caveats, Check> = {
  capabilities: names,
  tools: names,
  namespaces: names,
  environments: names,
  budget: (value) => problemOf(value, budgetChecks),
  depth: (value) => (Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : "must be a whole number from 0"),
  expires_at: amount,
  audience: names,
  nonce: (value) => (typeof value === "string" ? undefined : "must be a text"),
};

/**
 * Why these are not caveats that this release can enforce; undefined if they are. A host must refuse a token with an
 * unknown caveat: its author wanted a restriction that this host would not apply.
 */
export function caveatProblem(value: unknown): string | undefined {
  return problemOf(value, checks);
}

function problemOf(value: unknown, known: Readonly<Record<string, Check>>): string | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "must be an object";
  for (const [name, item] of Object.entries(value)) {
    const check = Object.hasOwn(known, name) ? known[name] : undefined;
    if (check === undefined) return `unknown caveat ${JSON.stringify(name)}`;
    const problem = check(item);
    if (problem !== undefined) return `${name}: ${problem}`;
  }
  return undefined;
}
