// Expressions as the field writes them, turned into JMESPath: `A OR B`, and bare numbers and words in comparisons.

const pieces = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|[^'"`]+|['"`]/gs;
const endsWithComparison = /(==|!=|<=|>=|<|>)\s*$/;
const literal = "-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|true|false|null";
const comparedWith = new RegExp(`(==|!=|<=|>=|<|>)(\\s*)(${literal})(?![\\w.])`, "g");
const comparing = new RegExp(`(^|[(&|!?]\\s*)(${literal})(\\s*(?:==|!=|<=|>=|<|>))`, "g");

/** The same in strict JMESPath. Quoted text stays as it is, but for a double-quoted one in a comparison: it is a text. */
export function toStrictSyntax(text: string): string {
  let strict = "";
  // Alone tells what is before a quoted text: looking at all that there is by then takes long for very many of them.
  let last = "";
  for (const [piece] of text.matchAll(pieces)) {
    // The library would take the rest of the text for quoted.
    if (/^['"`]$/.test(piece)) throw new Error("a quote is not closed");
    if (piece.startsWith('"') && endsWithComparison.test(last)) strict += `\`${piece.replaceAll("`", "\\`")}\``;
    else if (/^['"`]/.test(piece)) strict += piece;
    else strict += strictWords(piece);
    last = piece;
  }
  return strict;
}

function strictWords(text: string): string {
  return text
    .replace(/(?<=^|\s)OR(?=\s|$)/g, "||")
    .replace(/(?<=^|\s)AND(?=\s|$)/g, "&&")
    .replace(/(?<=^|\s|\()NOT\s+/g, "!")
    .replace(comparedWith, "$1$2`$3`")
    .replace(comparing, "$1`$2`$3");
}
