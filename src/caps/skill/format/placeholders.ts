// Placeholders in instructions: `{topic}` is the argument of that name, `{args}` all arguments.
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { skillLimits } from "../limits.ts";

const placeholder = /\{([A-Za-z_][\w-]{0,63})\}/g;

/**
 * Replaces the names of arguments and leaves all other braces as they are, since instructions contain code. Works in
 * one pass, so that a value that looks like a placeholder stays as it is. A known argument that is missing becomes
 * empty. Returns undefined if the result would be too long.
 */
export function fillPlaceholders(text: string, known: ReadonlySet<string>, args: JsonObject): string | undefined {
  let room = skillLimits.maxInstructionsLength - text.length;
  const filled = text.replace(placeholder, (whole, name: string) => {
    if (room < 0) return "";
    const value = findValue(name, known, args) ?? whole;
    room -= value.length;
    return value;
  });
  return room < 0 ? undefined : filled;
}

function findValue(name: string, known: ReadonlySet<string>, args: JsonObject): string | undefined {
  if (Object.hasOwn(args, name)) return toText(args[name] ?? null);
  if (known.has(name)) return "";
  return name === "args" ? allArguments(args) : undefined;
}

function allArguments(args: JsonObject): string {
  return Object.entries(args)
    .map(([name, value]) => `${name}: ${toText(value)}`)
    .join("\n");
}

function toText(value: JsonValue): string {
  if (typeof value === "string") return value;
  return value === null ? "" : JSON.stringify(value, null, 2);
}
