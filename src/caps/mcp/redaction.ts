// Keeps what a config hands to a server to prove who it is out of what is shown of that server's failures. What a tool
// returns is not touched: most values of an environment are no secrets, and data with holes in it is of no use.
import { isJsonObject, type JsonValue } from "../../protocol/json.ts";
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
  const redacted = (inner: JsonValue): JsonValue => {
    if (typeof inner === "string") return redact(inner);
    if (Array.isArray(inner)) return inner.map(redacted);
    if (!isJsonObject(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([key, field]) => [redact(key), redacted(field)]));
  };
  return redacted(value) as Value;
}

/** Shorter values, as `true` or `8080`, say nothing and would blot out innocent text. */
const minSecretLength = 6;

type ProgramEndpoint = Extract<Endpoint, { transport: "stdio" }>;
type RemoteEndpoint = Exclude<Endpoint, ProgramEndpoint>;

/** Its variables; and of its arguments those that are called secrets, or are addresses with a password. */
function secretsOfProgram({ cmd, env }: ProgramEndpoint): string[] {
  const named = cmd.flatMap((argument, at) => {
    const [flag, value = cmd[at + 1] ?? ""] = secretFlag.exec(argument) ?? [];
    return flag === undefined ? [] : [value];
  });
  return [...Object.values(env), ...named, ...cmd.map(passwordOf)];
}

const secretFlag = /^--?[\w-]*(?:key|token|secret|password)[\w-]*(?:=(.+))?$/is;

/** Keys are handed over in the query of an address too, whatever they are called there. */
function secretsOfRemote({ url, headers, oauth }: RemoteEndpoint): string[] {
  const { client_secret = "", private_key = "", identity_provider } = oauth ?? {};
  const keys = [client_secret, private_key, identity_provider?.client_secret ?? ""];
  return [...Object.values(headers), ...keys, ...url.searchParams.values()];
}

/** `Bearer abc` is shown as neither whole nor part, nor is a key of several lines, nor the password in an address. */
function partsOf(value: string): string[] {
  return [value, ...value.split(/\s+/), passwordOf(value)];
}

function passwordOf(text: string): string {
  if (!URL.canParse(text)) return "";
  const { password } = new URL(text);
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}
