// `allowed-tools` as one string: tools separated by spaces or commas, each with its allowed uses in parentheses, as in
// `Bash(git add:*) Read`.

/** Does not split within parentheses. A parenthesis without a partner is an ordinary character. */
export function splitToolNames(text: string): string[] {
  const halves = pairedParentheses(text);
  const names: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at <= text.length; at++) {
    if (halves.has(at)) depth += text[at] === "(" ? 1 : -1;
    if (at < text.length && (depth > 0 || !/[\s,]/.test(text.charAt(at)))) continue;
    names.push(text.slice(start, at));
    start = at + 1;
  }
  return names;
}

/** The positions of all parentheses that have a partner. */
function pairedParentheses(text: string): Set<number> {
  const open: number[] = [];
  const paired = new Set<number>();
  for (let at = 0; at < text.length; at++) {
    if (text[at] === "(") open.push(at);
    const start = text[at] === ")" ? open.pop() : undefined;
    if (start !== undefined) paired.add(start).add(at);
  }
  return paired;
}
