import type { Space } from "./space.ts";

export interface TextOptions {
  minLength?: number;
  maxLength: number;
  /** The allowed characters. Without it every character is allowed, and samples use letters, digits and spaces. */
  charset?: string;
}

const sampled = "abcdefghijklmnopqrstuvwxyz0123456789 ";

export function text({ minLength = 0, maxLength, charset }: TextOptions): Space<string> {
  if (!(minLength >= 0 && minLength <= maxLength)) throw new RangeError("a text has minLength ≤ maxLength");
  if (charset === "") throw new RangeError("charset must not be empty");
  const allowed = charset === undefined ? undefined : new Set(charset);
  const characters = [...(charset ?? sampled)];
  return {
    form: { type: "text", min_length: minLength, max_length: maxLength, ...(charset === undefined ? {} : { charset }) },
    schema: {
      type: "string",
      minLength,
      maxLength,
      ...(charset === undefined ? {} : { pattern: `^[${escapeClass(charset)}]*$` }),
    },
    contains(value): value is string {
      if (typeof value !== "string") return false;
      // Counted in code points, as JSON Schema does, not in UTF-16 units.
      const found = [...value];
      if (found.length < minLength || found.length > maxLength) return false;
      return allowed === undefined || found.every((character) => allowed.has(character));
    },
    sample(random) {
      const length = minLength + random.integer(maxLength - minLength + 1);
      return Array.from({ length }, () => characters[random.integer(characters.length)]).join("");
    },
  };
}

function escapeClass(characters: string): string {
  return characters.replaceAll(/[\\\]^-]/g, "\\$&");
}
