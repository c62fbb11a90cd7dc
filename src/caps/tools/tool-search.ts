// Finds tools by words, best match first.
import type { CatalogueTool } from "../../plugin/tool-catalogue.ts";

/** Tools with every word of the query in their name, tags or description; matches in the name come first. */
export function searchTools(tools: readonly CatalogueTool[], query: string): CatalogueTool[] {
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "")
    .slice(0, maxWords);
  return tools
    .map((tool) => ({ tool, score: scoreOf(tool, words, words.join("_")) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ tool }) => tool);
}

const maxWords = 32;

function scoreOf(tool: CatalogueTool, words: readonly string[], joined: string): number {
  const name = tool.name.toLowerCase();
  const description = tool.description.toLowerCase();
  const tags = tool.tags.map((tag) => tag.toLowerCase());
  let total = name === joined ? 1000 : 0;
  for (const word of words) {
    const score = scoreOfWord(word, name, tags, description);
    if (score === 0) return 0;
    total += score;
  }
  return total;
}

function scoreOfWord(word: string, name: string, tags: readonly string[], description: string): number {
  if (name === word) return 100;
  if (name.split(/[^a-z0-9]+/).includes(word)) return 50;
  if (name.startsWith(word)) return 40;
  if (tags.includes(word)) return 30;
  if (name.includes(word)) return 20;
  if (tags.some((tag) => tag.includes(word))) return 10;
  if (description.split(/[^\p{L}\p{N}]+/u).includes(word)) return 5;
  return description.includes(word) ? 2 : 0;
}
