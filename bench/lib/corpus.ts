// Texts to remember and to search, the same in every process: words as common and as rare as in real ones.

export interface Corpus {
  /** Entries `from … from + count - 1`, as a request carries them. */
  entries(from: number, count: number): { key: string; content: string }[];
  /** Two words each, none of the most common. */
  readonly queries: readonly string[];
}

const vocabulary = 20_000;
const wordsPerEntry = 18;
const queryCount = 256;
/** What a search engine would call stop words: nobody asks for them. */
const mostCommon = 50;

export function createCorpus(): Corpus {
  const random = createRandom(20_261_115);
  // Zipf: the n-th word occurs about 1/n as often as the first. Drawing evenly on a logarithmic scale gives that.
  const draw = () => Math.floor(vocabulary ** random()) - 1;
  const drawRarer = () => {
    for (;;) {
      const word = draw();
      if (word >= mostCommon) return word;
    }
  };
  const queries = Array.from({ length: queryCount }, () => `${toWord(drawRarer())} ${toWord(drawRarer())}`);
  return {
    queries,
    entries: (from, count) =>
      Array.from({ length: count }, (_, index) => ({
        key: `entry-${from + index}`,
        content: Array.from({ length: wordsPerEntry }, () => toWord(draw())).join(" "),
      })),
  };
}

const syllables = ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va"];

function toWord(number: number): string {
  let word = "";
  for (let rest = number + syllables.length; rest > 0; rest = Math.floor(rest / syllables.length))
    word += syllables[rest % syllables.length];
  return word;
}

function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
