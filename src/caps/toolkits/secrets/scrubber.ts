// Keeps secrets out of what a toolkit says, should a server or an error repeat them.
import type { CallContext } from "../../../host/call-context.ts";
import type { Logger } from "../../../host/logger.ts";
import { replaceIn } from "../../../host/recording/tape.ts";
import { A2EError } from "../../../protocol/errors.ts";
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

/** Undefined where there is nothing to look for, which is the common case and then costs nothing. */
export function createScrubber(secrets: readonly string[]): Scrubber | undefined {
  const forms = new Set(
    secrets
      .flatMap((secret) => [secret, credentials.exec(secret)?.[1] ?? secret])
      .filter(({ length }) => length >= toolkitLimits.minScrubbedLength)
      .flatMap(formsOf),
  );
  if (forms.size === 0) return undefined;
  // The longest first: one form may be part of another.
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
    // As JSON will have it: a date is a text there.
    if ("toJSON" in given && typeof given.toJSON === "function") return value(given.toJSON());
    return Object.fromEntries(Object.entries(given).map(([key, inner]) => [text(key), value(inner)]));
  };

  /** Without its cause and its stack, which are for the log and would carry the secret there. */
  const error = (thrown: unknown): Error => {
    if (!(thrown instanceof A2EError))
      return new Error(text(thrown instanceof Error ? thrown.message : String(thrown)));
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

/** `Bearer …` and the like: a server may repeat what follows the scheme alone. */
const credentials = /^[A-Za-z][\w-]{0,31} +(\S+)$/;

/** As it is, in a URL, in JSON, and as base64, which is how HTTP writes passwords. */
function formsOf(secret: string): string[] {
  const base64 = Buffer.from(secret).toString("base64");
  return [
    secret,
    encodeURIComponent(Buffer.from(secret).toString()),
    JSON.stringify(secret).slice(1, -1),
    base64.replace(/=+$/, ""),
    base64.replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_"),
  ];
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
