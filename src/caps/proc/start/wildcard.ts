import { matchesSteps } from "../../../machinery/validation/wildcard-steps.ts";

/** Whether all of the text fits: `*` stands for any characters, `?` for one. Takes time linear in both for each star. */
export function matchesWildcard(pattern: string, text: string): boolean {
  return matchesSteps(text, pattern, isStar, (sign, character) => sign === "?" || sign === character);
}

function isStar(sign: string): boolean {
  return sign === "*";
}
