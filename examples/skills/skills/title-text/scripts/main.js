export default async function title({ text, max_words }) {
  await emit({ kind: "progress", data: { message: `a title for ${text.length} characters` } });
  const { content } = await llm(`A title of at most ${max_words} words, and nothing else, for:\n\n${text}`);
  const words = content.trim().split(/\s+/).slice(0, max_words);
  return { title: words.join(" "), words: words.length };
}
