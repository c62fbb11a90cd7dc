/** Whether all of the text fits: `*` stands for any characters, `?` for one. Takes time linear in both for each star. */
export function matchesWildcard(pattern: string, text: string): boolean {
  let [at, inPattern, starAt, resumeAt] = [0, 0, -1, 0];
  while (at < text.length) {
    const expected = pattern[inPattern];
    if (expected === "*") {
      starAt = inPattern;
      resumeAt = at;
      inPattern += 1;
    } else if (expected === "?" || expected === text[at]) {
      inPattern += 1;
      at += 1;
    } else if (starAt >= 0) {
      // The last star takes one character more; earlier ones need not be tried again.
      inPattern = starAt + 1;
      resumeAt += 1;
      at = resumeAt;
    } else return false;
  }
  while (pattern[inPattern] === "*") inPattern += 1;
  return inPattern === pattern.length;
}
