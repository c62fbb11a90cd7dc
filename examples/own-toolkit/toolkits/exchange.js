// @ts-check
// A toolkit is one call of defineToolkit in one file. The config of the host names the folder; every module in it is loaded.
import { defineToolkit } from "a2e/toolkits";
import { z } from "zod";

export const exchange = defineToolkit({
  name: "exchange",
  description: "Converts money at rates that are set once.",
  category: "finance",
  tags: ["money"],
  config: z.object({
    base: z.string().length(3).default("EUR").describe("The currency that rates are given for."),
    rates: z.record(z.string(), z.number().positive()).describe("What one unit of the base is worth in others."),
    // A secret: sealed where it is stored, and shown to nobody, not even to whoever set it.
    api_key: z.string().min(8).meta({ format: "password", description: "Who pays for the answers." }),
  }),
  // What the tools share: opened when the toolkit starts, closed when it is removed.
  start({ base, rates, api_key }) {
    if (!api_key.startsWith("key-")) throw new Error("the service knows no such key");
    return { rates: new Map([[base, 1], ...Object.entries(rates)]), answers: 0 };
  },
  stop(service) {
    service.rates.clear();
  },
  tools: {
    convert: {
      description: "Converts an amount from one currency to another.",
      idempotent: true,
      input: z.object({ amount: z.number(), from: z.string(), to: z.string() }),
      run({ amount, from, to }, { resource: service }) {
        const [one, other] = [service.rates.get(from), service.rates.get(to)];
        if (one === undefined || other === undefined)
          throw new Error(`known currencies are ${[...service.rates.keys()].join(", ")}`);
        service.answers += 1;
        return { amount: Math.round((amount / one) * other * 100) / 100, currency: to, answers: service.answers };
      },
    },
  },
});
