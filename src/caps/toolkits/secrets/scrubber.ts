// Removes secrets from the output of a toolkit, in case a server or an error repeats them.
import { type CallContext, replaceIn } from "../../../plugin/call-context.ts";
import type { Logger } from "../../../plugin/logger.ts";
import { A2EError, messageOf } from "../../../protocol/errors.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { toolkitLimits } from "../limits.ts";

export interface Scrubber {
  text(text: string): string;
  value<Value>(value: Value): Value;
  error(error: unknown): unknown;
  context(context: CallContext): CallContext;
  log(log: Logger): Logger;
}

const replacement = "[secret]";

/** Undefined if there are no secrets to search for, which is the common case and then costs nothing. */
export function createScrubber(secrets: readonly string[]): Scrubber | undefined {
  const forms = new Set(
    secrets
      .flatMap((secret) => [secret, credentials.exec(secret)?.[1] ?? secret])
      .filter(({ length }) => length >= toolkitLimits.minScrubbedLength)
      .flatMap(formsOf),
  );
  if (forms.size === 0) return undefined;
  // Longest first, since a form may be part of another.
  const pattern = new RegExp(
    [...forms]
      .sort((a, b) => b.length - a.length)
      .map(escapeRegExp)
      .join("|"),
    "g",
  );
  const text = (given: string) => given.replace(pattern, replacement);

  const value = (given: unknown): unknown => {
    if (typeof given === "string") return text(given);
    if (typeof given === "number") return text(String(given)) === String(given) ? given : replacement;
    if (typeof given !== "object" || given === null) return given;
    if (given instanceof Error) return error(given);
    if (ArrayBuffer.isView(given)) return given;
    if (Array.isArray(given)) return given.map(value);
    // As JSON will write it: a date becomes a string.
    if ("toJSON" in given && typeof given.toJSON === "function") return value(given.toJSON());
    return Object.fromEntries(Object.entries(given).map(([key, inner]) => [text(key), value(inner)]));
  };

  /** Without its cause and stack, which would carry the secret to the log. */
  const error = (thrown: unknown): Error => {
    if (!(thrown instanceof A2EError)) return new Error(text(messageOf(thrown)));
    const { code, message, detail, retryable, capability_name } = thrown;
    return new A2EError(code, text(message), { detail: value(detail) as JsonObject, retryable, capability_name });
  };

  const log = (to: Logger): Logger => {
    const at =
      (level: keyof Logger): Logger["info"] =>
      (message, fields) =>
        to[level](text(message), fields === undefined ? undefined : (value(fields) as JsonObject));
    return { info: at("info"), warn: at("warn"), error: at("error") };
  };

  return {
    text,
    value: <Value>(given: Value) => value(given) as Value,
    error,
    log,
    context: (context) =>
      replaceIn(context, {
        log: log(context.log),
        emit: (kind, data) => context.emit(text(kind), value(data) as JsonObject),
      }),
  };
}

/** `Bearer …` and the like: a server may repeat only the part after the scheme. */
const credentials = /^[A-Za-z][\w-]{0,31} +(\S+)$/;

/** The secret as it is, as JSON, in a URL or form, and as base64. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const whole = bytes.toString("base64").replace(/=+$/, "");
  const base64 = [whole, ...[0, 1, 2].map((offset) => base64Within(bytes, offset))];
  const inUrls = [encodeURIComponent(bytes.toString()), new URLSearchParams({ "": secret }).toString().slice(1)];
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    ...inUrls,
    ...inUrls.map((form) => form.replace(/%[0-9A-F]{2}/g, (byte) => byte.toLowerCase())),
    ...base64,
    ...base64.map((form) => form.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

/**
 * The characters that are common to the base64 of all texts with the secret at this offset modulo three, for example
 * behind a user name and a colon in HTTP Basic authentication. Characters that also encode neighbouring bytes are left
 * out.
 */
function base64Within(secret: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), secret]).toString("base64");
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + secret.length) * 8) / 6));
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
