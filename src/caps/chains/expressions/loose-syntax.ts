// Translates common notation into JMESPath: `A OR B`, and bare numbers and words in comparisons.

const pieces = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|[^'"`]+|['"`]/gs;
const endsWithComparison = /(==|!=|<=|>=|<|>)\s*$/;
const literal = "-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?|true|false|null";
const comparedWith = new RegExp(`(==|!=|<=|>=|<|>)(\\s*)(${literal})(?![\\w.])`, "g");
const comparing = new RegExp(`(^|[(&|!?]\\s*)(${literal})(\\s*(?:==|!=|<=|>=|<|>))`, "g");

/**
 * The same expression in strict JMESPath. Quoted text is unchanged, except that a double-quoted text in a comparison
 * becomes a literal.
 */
export function toStrictSyntax(text: string): string {
  let strict = "";
  // Only the last piece is matched against: matching all of `strict` would take quadratic time.
  let last = "";
  for (const [piece] of text.matchAll(pieces)) {
    // The library would treat the rest of the expression as quoted.
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
