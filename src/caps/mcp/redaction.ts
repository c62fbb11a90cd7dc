// Keeps what a config hands to a server to prove who it is out of what is shown of that server's failures. What a tool
// returns is not touched: most values of an environment are no secrets, and data with holes in it is of no use.
import type { JsonValue } from "../../protocol/json.ts";
import type { Endpoint, ServerConfig } from "./server-config.ts";

/** Blots secrets out of a text that a server wrote. */
export type Redaction = (text: string) => string;

export function createRedaction({ endpoint }: ServerConfig): Redaction {
  const given = endpoint.transport === "stdio" ? secretsOfProgram(endpoint) : secretsOfRemote(endpoint);
  const secrets = [...new Set(given.flatMap(partsOf))]
    .filter((value) => value.length >= minSecretLength)
    // A secret may be a part of another.
    .toSorted((one, other) => other.length - one.length);
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, "***"), text);
}

/** The same for every text in a value. */
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

/** Servers may nest without end, and whoever follows has no more room on the stack. */
const maxDepth = 200;

/** Shorter values, as `true` or `8080`, say nothing and would blot out innocent text. */
const minSecretLength = 6;

type ProgramEndpoint = Extract<Endpoint, { transport: "stdio" }>;
type RemoteEndpoint = Exclude<Endpoint, ProgramEndpoint>;

/** Its variables; and of its arguments those that are called secrets, or that addresses have in them. */
function secretsOfProgram({ cmd, env }: ProgramEndpoint): string[] {
  const named = cmd.flatMap((argument, at) => {
    const [, dashes, value] = secretName.exec(argument) ?? [];
    if (value !== undefined) return [value];
    return dashes === undefined || dashes === "" ? [] : [cmd[at + 1] ?? ""];
  });
  return [...Object.values(env), ...named, ...cmd.flatMap(secretsInAddress)];
}

/** `--api-key abc`, `--api-key=abc`, and `API_KEY=abc` as programs that start others take it. */
const secretName = /^(-{0,2})[\w-]*(?:key|token|secret|password|credential|header)[\w-]*(?:=(.+))?$/is;

function secretsOfRemote({ url, headers, oauth }: RemoteEndpoint): string[] {
  const { client_secret = "", private_key = "", identity_provider } = oauth ?? {};
  const keys = [client_secret, private_key, identity_provider?.client_secret ?? ""];
  return [...Object.values(headers), ...keys, ...secretsInAddress(url.href)];
}

/** `Bearer abc` is shown as neither whole nor part, nor is a key of several lines, nor what an address has of secrets. */
function partsOf(value: string): string[] {
  return [value, ...value.split(/\s+/), ...secretsInAddress(value)];
}

/**
 * The password, and the query: keys are handed over there too, whatever they are called. Both as they are meant and as they
 * are written, for an address is shown as it was written.
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
