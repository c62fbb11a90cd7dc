// @ts-check
// A tool is one call of defineTool. Its schema checks the arguments before `run` sees them.
import { defineTool } from "a2e/tools";
import { z } from "zod";

export const wordList = defineTool({
  name: "word_list",
  description: "Splits a text into lower-case words, one per line.",
  input: z.object({ text: z.string().min(1).describe("The text to split.") }),
  output: z.object({ lines: z.string() }),
  run({ text }) {
    const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
    return { lines: `${words.join("\n")}\n` };
  },
});
