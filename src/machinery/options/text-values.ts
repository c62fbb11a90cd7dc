// Numbers and switches that are written as text. The SDK reads them so, and `${PORT}` yields nothing else.

/** The value that a text stands for where another type is expected; the text itself where it stands for none. */
export function fromText(expected: "number" | "boolean", text: string): unknown {
  if (expected === "number" && /^-?\d{1,16}(\.\d+)?$/.test(text)) return Number(text);
  if (expected === "boolean" && /^(true|false)$/.test(text)) return text === "true";
  return text;
}
