// The section `quotas` of a config: limits and budgets per principal, off by default.
import { z } from "zod";

const unlimited = z.literal("unlimited");
const count = z.union([z.int().min(0), unlimited]).optional();
const amount = z.union([z.number().min(0), unlimited]).optional();
const rate = z.union([z.number().positive(), unlimited]).optional();

const amounts = z.strictObject({
  calls: count.describe("Calls, also those that chains, skills and tools make."),
  env_steps: count.describe("Steps of environments, also those of env/batch_step and env/what_if."),
  process_seconds: amount.describe(
    "Seconds that processes of `proc` run. Each is charged when it begins; then a process is ended.",
  ),
  tokens: count.describe("Tokens of models, as tools and plugins report them."),
  cost_usd: amount.describe("Cost in US dollars, as tools and plugins report it."),
  bytes_stored: count.describe(
    "Bytes written to memory, to files by write_file and to env data. Deleting gives nothing back.",
  ),
});

const fields = z.strictObject({
  max_sessions: count.describe("Sessions at once."),
  calls_per_second: rate.describe("Calls of the agent per second, on average."),
  burst: count.describe("Calls that may come at once. Without it: calls_per_second, rounded up."),
  max_parallel_calls: count.describe("Calls that run at once, over all sessions of the principal."),
  bytes_per_second: rate.describe("Bytes of requests and answers per second, on average. Events are not counted."),
  budget: z
    .strictObject({
      per_day: amounts.prefault({}).describe("Amounts per day, which begins at midnight UTC."),
      in_all: amounts.prefault({}).describe("Amounts that never reset."),
    })
    .prefault({})
    .describe("What a principal may use up. Counted across restarts and rotated keys."),
});

export const quotas = z.strictObject({
  default: fields.prefault({}).describe("For every principal. A limit that is left out does not exist."),
  roles: z
    .record(z.string(), fields)
    .default({})
    .describe("By role; they replace limits of the default. Of several roles, the highest limit counts."),
  principals: z
    .record(z.string(), fields)
    .default({})
    .describe('By the id of a principal, such as "key:ci-bot"; they replace limits of its roles and of the default.'),
});
