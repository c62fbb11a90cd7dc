// @ts-check
// A tool is one call of defineTool. The config names the folder; every module in it is loaded.
import { defineTool } from "a2e/tools";
import { z } from "zod";

export const rollDice = defineTool({
  name: "roll_dice",
  description: "Rolls dice and returns what they show.",
  tags: ["games"],
  streaming: true,
  input: z.object({
    count: z.int().min(1).max(100).default(1).describe("How many dice."),
    sides: z.int().min(2).max(1000).default(6).describe("How many sides each of them has."),
  }),
  output: z.object({ rolls: z.array(z.int()), total: z.int() }),
  run({ count, sides }, context) {
    const rolls = [];
    for (let done = 1; done <= count; done++) {
      rolls.push(1 + Math.floor(Math.random() * sides));
      context.emit("progress", { done, count });
    }
    return { rolls, total: rolls.reduce((sum, roll) => sum + roll, 0) };
  },
});
