// The default export is called with the arguments; what it returns is the result.
export default function statistics({ text, top }) {
  const words = text.toLowerCase().match(/[\p{L}\p{N}'’]+/gu) ?? [];
  const counts = new Map();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const frequent = [...counts].sort((left, right) => right[1] - left[1] || (left[0] < right[0] ? -1 : 1));
  return {
    characters: [...text].length,
    words: words.length,
    sentences: (text.match(/[^.!?]*[\p{L}\p{N}][^.!?]*/gu) ?? []).length,
    lines: text === "" ? 0 : text.split("\n").length,
    frequent_words: frequent.slice(0, top).map(([word, count]) => ({ word, count })),
  };
}
