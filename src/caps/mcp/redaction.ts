// Removes credentials of a config from the texts that report a server's failures. Results of tools are not changed:
// most values of an environment are not secrets, and data with holes is useless.
import type { JsonValue } from "../../protocol/json.ts";
import type { Endpoint, ServerConfig } from "./server-config.ts";

/** Replaces secrets in a text that a server wrote. */
export type Redaction = (text: string) => string;

export function createRedaction({ endpoint }: ServerConfig): Redaction {
  const given = endpoint.transport === "stdio" ? secretsOfProgram(endpoint) : secretsOfRemote(endpoint);
  const secrets = [...new Set(given.flatMap(partsOf))]
    .filter((value) => value.length >= minSecretLength)
    // The longest first: a secret may be part of another.
    .toSorted((one, other) => other.length - one.length);
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, "***"), text);
}

/** Applies the redaction to every text in a value. */
export function redactValue<Value extends JsonValue>(value: Value, redact: Redaction): Value {
  const redacted = (inner: JsonValue, depth: number): JsonValue => {
    if (typeof inner === "string") return redact(inner);
    if (typeof inner !== "object" || inner === null) return inner;
    if (depth === maxDepth) return "…";
    if (Array.isArray(inner)) return inner.map((item) => redacted(item, depth + 1));
    return Object.fromEntries(Object.entries(inner).map(([key, field]) => [redact(key), redacted(field, depth + 1)]));
  };
  return redacted(value, 0) as Value;
}

/** Servers may nest values without limit, and deep recursion would exhaust the stack. */
const maxDepth = 200;

/** Shorter values, such as `true` or `8080`, are not secret and occur in ordinary text. */
const minSecretLength = 6;

type ProgramEndpoint = Extract<Endpoint, { transport: "stdio" }>;
type RemoteEndpoint = Exclude<Endpoint, ProgramEndpoint>;

/** Its environment variables, and those arguments that are named like secrets or are addresses with secrets. */
function secretsOfProgram({ cmd, env }: ProgramEndpoint): string[] {
  const named = cmd.flatMap((argument, at) => {
    const [, dashes, value] = secretName.exec(argument) ?? [];
    if (value !== undefined) return [value];
    return dashes === undefined || dashes === "" ? [] : [cmd[at + 1] ?? ""];
  });
  return [...Object.values(env), ...named, ...cmd.flatMap(secretsInAddress)];
}

/** `--api-key abc`, `--api-key=abc`, and `API_KEY=abc` as launcher programs accept it. */
const secretName = /^(-{0,2})[\w-]*(?:key|token|secret|password|credential|header)[\w-]*(?:=(.+))?$/is;

function secretsOfRemote({ url, headers, oauth }: RemoteEndpoint): string[] {
  const { client_secret = "", private_key = "", identity_provider } = oauth ?? {};
  const keys = [client_secret, private_key, identity_provider?.client_secret ?? ""];
  return [...Object.values(headers), ...keys, ...secretsInAddress(url.href)];
}

/** Also the parts of a value: the `abc` of `Bearer abc`, each line of a key, and the secrets in an address. */
function partsOf(value: string): string[] {
  return [value, ...value.split(/\s+/), ...secretsInAddress(value)];
}

/**
 * The password and all query values, since keys are passed under any name. Both decoded and as written, because an
 * error may show either.
 */
function secretsInAddress(text: string): string[] {
  if (!URL.canParse(text)) return [];
  const { password, search, searchParams } = new URL(text);
  const values = search.split("&").map((pair) => pair.slice(pair.indexOf("=") + 1));
  return [password, decoded(password), ...values, ...searchParams.values()];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
