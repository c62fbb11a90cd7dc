// Numbers and booleans that are written as text. The Python SDK accepts them, and `${PORT}` always yields text.

/** The number or boolean that a text represents; the text itself if it represents neither. */
export function fromText(expected: "number" | "boolean", text: string): unknown {
  if (expected === "number" && /^-?\d{1,16}(\.\d+)?$/.test(text)) return Number(text);
  if (expected === "boolean" && /^(true|false)$/.test(text)) return text === "true";
  return text;
}
