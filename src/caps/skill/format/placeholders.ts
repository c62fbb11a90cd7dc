// Named arguments in instructions: `{topic}` is the argument of that name, `{args}` all of them.
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { skillLimits } from "../limits.ts";

const placeholder = /\{([A-Za-z_][\w-]{0,63})\}/g;

/**
 * Fills in what is an argument and leaves every other brace alone: instructions are full of code. One pass, so that a
 * value which looks like a placeholder stays as it is. A known argument that was not given is left out. Undefined where
 * the whole would be too long.
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
