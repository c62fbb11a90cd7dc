// Splits the words behind a tool's name into flags, without the tool's schema.

export interface Flag {
  /** As written, without dashes. */
  readonly name: string;
  /** Undefined if no value followed. */
  readonly value: string | undefined;
}

/** Reads `--name value`, `--name=value` and `--name`. A word that belongs to no flag is handed to `onStray`. */
export function parseFlags(words: readonly string[], onStray: (word: string) => void): Flag[] {
  const flags: Flag[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = words[index] ?? "";
    const match = /^--?([A-Za-z_][^=]*)(?:=([\s\S]*))?$/.exec(word);
    if (match === null) {
      onStray(word);
      continue;
    }
    const [, name = "", inline] = match;
    const next = words[index + 1];
    // A negative number is a value; any other word with a dash is the next flag, unless it is joined with `=`.
    const follows = next !== undefined && (!next.startsWith("-") || /^-(\d|\.\d|$)/.test(next));
    if (inline === undefined && follows) index += 1;
    flags.push({ name, value: inline ?? (follows ? next : undefined) });
  }
  return flags;
}
