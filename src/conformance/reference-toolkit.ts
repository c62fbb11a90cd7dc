// A toolkit by which a host can be asked about toolkits. One without it is asked less. `modules: [a2e/conformance]` of
// the toolkits plugin brings it in.
import { z } from "zod";
import { defineToolkit } from "../caps/toolkits/define-toolkit.ts";

export const referenceToolkit = defineToolkit({
  name: "conformance",
  description: "Greets, and can be told a secret.",
  category: "conformance",
  tags: ["conformance", "greeting"],
  config: z.object({
    greeting: z.string().min(2).describe("What it says before a name."),
    times: z.int().min(1).max(9).default(1),
    key: z.string().min(4).optional().meta({ format: "password" }),
  }),
  start({ greeting }) {
    if (greeting === "fail") throw new Error("it was told to fail");
    return undefined;
  },
  tools: {
    greet: {
      description: "Greets somebody.",
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
