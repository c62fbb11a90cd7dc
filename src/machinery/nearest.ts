// "Did you mean …": the known word that was most likely meant.

/** Words beyond this length are not typos, and comparing them would cost time that a peer decides on. */
const maxWordLength = 64;

/**
 * The candidate that differs from `word` by a typo, a swap, letter case or separators; undefined if no candidate is
 * near.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > maxWordLength) return undefined;
  const wanted = simplify(word);
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    if (candidate.length > maxWordLength) continue;
    const known = simplify(candidate);
    const distance = editDistance(wanted, known);
    // One edit per three letters: more would suggest unrelated words.
    if (distance < bestDistance && distance <= Math.max(wanted.length, known.length) / 3) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function simplify(word: string): string {
  return word.toLowerCase().replace(/[\s_-]/g, "");
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const cost = from[row - 1] === to[column - 1] ? 0 : 1;
      let distance = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + cost);
      const isSwap = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (row > 1 && column > 1 && isSwap) distance = Math.min(distance, at(beforeLast, column - 2) + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, to.length);
}

function at(row: number[], column: number): number {
  return row[column] ?? 0;
}
