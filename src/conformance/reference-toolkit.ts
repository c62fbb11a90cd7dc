// A toolkit for requirements about toolkits. A host without it is asked less. `modules: [a2e/conformance]` of the
// toolkits plugin adds it.
import { z } from "zod";
import { defineToolkit } from "../caps/toolkits/define-toolkit.ts";

export const referenceToolkit = defineToolkit({
  name: "conformance",
  description: "Greets, and accepts a secret.",
  category: "conformance",
  tags: ["conformance", "greeting"],
  config: z.object({
    greeting: z.string().min(2).describe("The greeting before a name."),
    times: z.int().min(1).max(9).default(1),
    key: z.string().min(4).optional().meta({ format: "password" }),
  }),
  start({ greeting }) {
    if (greeting === "fail") throw new Error("it was told to fail");
    return undefined;
  },
  tools: {
    greet: {
      description: "Greets a person by name.",
      input: z.object({ name: z.string() }),
      run: ({ name }, { config }) => ({
        text: `${config.greeting} ${name}`.repeat(config.times),
        has_key: config.key !== undefined,
      }),
    },
    leak: {
      description: "Returns its secret, which a host must not let through.",
      input: z.object({}),
      run: (_args, { config }) => ({ key: config.key ?? "" }),
    },
  },
});
