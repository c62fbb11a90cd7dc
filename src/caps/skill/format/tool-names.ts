// `allowed-tools` as one text: tools apart by spaces or commas, each with what it is allowed in parentheses, as in
// `Bash(git add:*) Read`.

/** What stands in parentheses belongs together; one that has no other half is a character as any other. */
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

/** Where the parentheses are that have their other half. */
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
