import * as z from "zod";
import { call, capability, push } from "../../protocol/capability.ts";
import { errorPayload } from "../../protocol/core.ts";
import { jsonObject, jsonValue } from "../../protocol/json.ts";

const observation = z.object({
  episode_id: z.string(),
  step_num: z.int(),
  state: jsonObject.describe("What the agent sees. A value that is no object stands under `value`."),
  done: z.boolean().default(false).describe("The episode came to its end."),
  truncated: z.boolean().default(false).describe("The episode was cut short, by its step limit for example."),
  reward: z.number().nullable().default(0),
  created_at: z.number(),
  metadata: jsonObject.default({}),
});

export type Observation = z.input<typeof observation>;

export const autoresetModes = ["disabled", "next_step", "same_step"] as const;
export type AutoresetMode = (typeof autoresetModes)[number];
const autoreset = z
  .enum(autoresetModes)
  .describe(
    "What a step does at the end of an episode: fail after it; or, in the step after it, ignore the action and start over; or start over at once, with the last observation in `metadata.final_observation`.",
  );

const itemError = z.object({ ...errorPayload.shape });

const experience = z.object({
  episode_id: z.string(),
  env_name: z.string(),
  step_num: z.int(),
  state: jsonObject,
  action: jsonValue,
  reward: z.number(),
  next_state: jsonObject,
  done: z.boolean(),
  truncated: z.boolean(),
  created_at: z.number(),
  feedback: z.array(z.number()).optional().describe("Rewards that the agent itself reported with env/reward."),
});

export type Experience = z.output<typeof experience>;

const dataItem = z.object({
  uri: z.string(),
  dest: z.string(),
  size_bytes: z.int(),
  checksum: z.string().describe("`sha256:` and 64 hexadecimal digits."),
  mime: z.string(),
  content: z.string().optional(),
  encoding: z.enum(["utf-8", "base64"]).optional(),
});

const observed = z.object({ obs: observation });

/** For agents written from the documentation, which look for these at the top. */
const mirrors = {
  episode_id: "obs.episode_id",
  observation: "obs.state",
  reward: "obs.reward",
  done: "obs.done",
  truncated: "obs.truncated",
};

const episodeId = z.string().default("").describe("The episode of the last reset where left out.");
const action = jsonValue.describe(
  "Bare, as `{value}`, as `{type, …}` or as `{action_type, payload, metadata}`; checked against the action space.",
);

const dataRoot = z
  .string()
  .max(200)
  .default("/workspace/data")
  .describe("A name for a folder of this session; never a path of the host.");

export const statePush = push("env/state/push", {
  doc: "Something happened in an episode. Only sent to agents that asked for `env_push` in the handshake.",
  aliases: ["env/state_push"],
  payload: z.object({
    episode_id: z.string(),
    step_id: z.int(),
    action_id: z.string().nullable().default(null),
    event_type: z.string(),
    reason: z.string().default(""),
    delta: jsonObject.default({}).describe("What changed, and only that."),
    state_delta: jsonObject.default({}).describe("The same as `delta`."),
    reward: z.number().nullable().default(null),
    reward_info: jsonObject.default({}),
    terminal: z.boolean().default(false),
  }),
  example: {
    episode_id: "0f5a1c0d5b9e4c8f0000000000000001",
    step_id: 3,
    event_type: "termination",
    reason: "done",
    delta: { count: 10 },
    state_delta: { count: 10 },
    reward: 1,
    terminal: true,
  },
});

const exampleId = "0f5a1c0d5b9e4c8f0000000000000001";
const exampleCopyId = "0f5a1c0d5b9e4c8f0000000000000002";
const exampleObservation = {
  episode_id: exampleId,
  step_num: 1,
  state: { count: 1 },
  reward: 1,
  created_at: 1789000000.5,
};
const inc = { action_type: "inc", payload: { amount: 1 } };

export const env = capability("env", {
  doc: "Environments to act in: reset, step, observe, with seeds that reproduce an episode and forks that leave it untouched.",
  features: { env_push: "Changes of an environment are told unasked, by env/state/push." },
  errors: {
    unknown_env: { retryable: false, doc: "No environment has this name; `detail.available` lists those there are." },
    unknown_action: { retryable: false, doc: "The action is not in the action space; `detail.allowed` says what is." },
    reset_denied: {
      retryable: false,
      doc: "The environment does not start this way, or the session has too many episodes.",
    },
  },
  calls: {
    reset: call("env/reset/req", "env/reset/resp", {
      asTool: { effect: "adds" },
      doc: "Starts an episode. Others of the session go on.",
      request: z.object({
        env_name: z.string().default("").describe("The host's first environment where left out."),
        seed: z
          .int()
          .nullable()
          .default(null)
          .describe("Reproduces an episode bit for bit; drawn, and told, where left out."),
        options: jsonObject.default({}).describe("As the environment documents them."),
        record: z
          .boolean()
          .optional()
          .describe("Keep the steps as experiences, whatever the host's default. An extension of ours."),
      }),
      result: observed,
      mirrors,
      example: {
        request: { env_name: "counter_env", seed: 42 },
        result: { obs: { ...exampleObservation, step_num: 0, state: { count: 0 }, reward: 0, metadata: { seed: 42 } } },
      },
    }),
    step: call("env/step/req", "env/step/resp", {
      asTool: { effect: "adds" },
      doc: "Acts in an episode.",
      request: z.object({ episode_id: episodeId, action }),
      result: observed,
      mirrors,
      example: { request: { episode_id: exampleId, action: inc }, result: { obs: exampleObservation } },
    }),
    observe: call("env/observe/req", "env/observe/resp", {
      asTool: { effect: "reads" },
      doc: "Looks at an episode without acting.",
      request: z.object({ episode_id: episodeId }),
      result: observed,
      mirrors,
      example: { request: { episode_id: exampleId }, result: { obs: exampleObservation } },
    }),
    close: call("env/close/req", "env/close/resp", {
      asTool: { effect: "destroys" },
      doc: "Ends an episode; does nothing where there is none.",
      request: z.object({ episode_id: episodeId }),
      result: z.object({ closed: z.boolean().default(true) }),
      example: { request: { episode_id: exampleId }, result: { closed: true } },
    }),
    space: call("env/space/req", "env/space/resp", {
      asTool: { effect: "reads" },
      doc: "Says what an environment takes and shows, and which others there are.",
      aliases: { "env/spaces/req": "env/spaces/resp" },
      request: z.object({ env_name: z.string().default("") }),
      result: z.object({
        env_name: z.string(),
        description: z.string().default(""),
        action_space: jsonObject.describe("JSON Schema of an action, with the space itself under `x-space`."),
        state_schema: jsonObject.describe("JSON Schema of `obs.state`."),
        observation_space: jsonObject.describe("The space of the observation before it became `obs.state`."),
        max_steps: z.int(),
        autoreset: z.object({ mode: autoreset, modes: z.array(autoreset) }),
        environments: z.array(z.object({ name: z.string(), description: z.string().default("") })),
      }),
      example: {
        request: { env_name: "CartPole-v1" },
        result: {
          env_name: "CartPole-v1",
          action_space: { type: "integer", minimum: 0, maximum: 1, "x-space": { type: "discrete", n: 2, start: 0 } },
          state_schema: { type: "object" },
          observation_space: { type: "box", low: null, high: null, shape: [4] },
          max_steps: 500,
          autoreset: { mode: "disabled", modes: ["disabled", "next_step", "same_step"] },
          environments: [{ name: "CartPole-v1", description: "Balance a pole on a cart." }],
        },
      },
    }),
    render: call("env/render/req", "env/render/resp", {
      doc: "Shows an episode: `text`, `json`, `screenshot` (an image as a data URL), or what the environment knows; null where it does not.",
      request: z.object({ episode_id: episodeId, mode: z.string().nullable().default("screenshot") }),
      result: z.object({ render: jsonValue.nullable() }),
      example: { request: { episode_id: exampleId, mode: "text" }, result: { render: "count: 1" } },
    }),
    plan: call("env/plan/req", "env/plan/resp", {
      doc: "Suggests actions that make sense now, best first; each can be sent to env/step as it is.",
      // One SDK names its request as it names the answer; such a request has no req_id.
      aliases: { "env/plan/resp": "env/plan/resp" },
      request: z.object({
        episode_id: z.string().nullable().default(null),
        state: jsonObject.nullable().default(null).describe("Plans for this state, where the environment can."),
      }),
      result: z.object({ suggested_actions: z.array(jsonObject).default([]) }),
      example: { request: { episode_id: exampleId }, result: { suggested_actions: [{ type: "inc" }] } },
    }),
    batchStep: call("env/batch_step/req", "env/batch_step/resp", {
      doc: "Acts in many episodes at once, or several times in one; each item has its own result or error.",
      request: z.object({
        episode_ids: z.array(z.string()).default([]),
        actions: z.array(jsonValue).default([]).describe("One for each episode; for one episode, one after the other."),
        episode_id: z.string().default("").describe("The one episode, where `episode_ids` is left out."),
        autoreset: autoreset.optional(),
      }),
      result: z.object({
        results: z.array(
          z.object({
            req_id: z.string().default(""),
            obs: observation.describe("For an item that failed, the episode as it is."),
            error: itemError.optional(),
          }),
        ),
      }),
      example: {
        request: { episode_ids: [exampleId], actions: [inc] },
        result: { results: [{ obs: exampleObservation }] },
      },
    }),
    whatIf: call("env/what_if/req", "env/what_if/resp", {
      doc: "Tries actions on copies of an episode and leaves it untouched. An extension of ours.",
      request: z.object({
        episode_id: episodeId,
        actions: z.array(jsonValue).min(1),
        seed: z
          .int()
          .nullable()
          .default(null)
          .describe("Another chance than the episode's own; without it, the outcomes are what a step would bring."),
      }),
      result: z.object({
        episode_id: z.string(),
        outcomes: z.array(z.object({ action: jsonValue, obs: observation.optional(), error: itemError.optional() })),
      }),
      example: {
        request: { episode_id: exampleId, actions: [inc] },
        result: { episode_id: exampleId, outcomes: [{ action: inc, obs: exampleObservation }] },
      },
    }),
    fork: call("env/fork/req", "env/fork/resp", {
      doc: "Copies an episode. The copy is an episode of its own; one that is left alone is a place to come back to. An extension of ours.",
      request: z.object({
        episode_id: episodeId,
        seed: z.int().nullable().default(null).describe("Another chance than the episode's own."),
      }),
      result: observed.extend({ forked_from: z.string() }),
      mirrors,
      example: {
        request: { episode_id: exampleId },
        result: { obs: { ...exampleObservation, episode_id: exampleCopyId }, forked_from: exampleId },
      },
    }),
    restore: call("env/restore/req", "env/restore/resp", {
      doc: "Puts an episode back to where a copy of it is, chance included; the copy stays as it is. An extension of ours.",
      request: z.object({
        episode_id: episodeId,
        from_episode_id: z.string().describe("Any episode of the same environment in this session."),
      }),
      result: observed,
      mirrors,
      example: {
        request: { episode_id: exampleId, from_episode_id: exampleCopyId },
        result: { obs: exampleObservation },
      },
    }),
    reward: call("env/reward", "env/reward/resp", {
      doc: "Reports a reward of the agent's own; kept with the step, if that is recorded, beside the environment's, which it never changes.",
      aliases: { "env/reward/req": "env/reward/resp" },
      request: z.object({
        episode_id: episodeId,
        step_num: z.int().min(0).optional().describe("The step it is for; the last one where left out."),
        reward: z.number(),
      }),
      result: z.object({ ok: z.boolean().default(true), step_num: z.int() }),
      example: { request: { episode_id: exampleId, reward: 0.5 }, result: { ok: true, step_num: 1 } },
    }),
    listExperiences: call("env/exp/list/req", "env/exp/list/resp", {
      doc: "Lists recorded steps of this session, newest last.",
      request: z.object({
        episode_id: z.string().default("").describe("All episodes where left out."),
        limit: z.int().min(0).default(100).describe("The newest so many, as far as they fit into an answer."),
      }),
      result: z.object({ episodes: z.array(experience).default([]), total: z.int().default(0) }),
      example: { request: { limit: 10 }, result: { episodes: [], total: 0 } },
    }),
    exportExperiences: call("env/exp/export/req", "env/exp/export/resp", {
      doc: "Writes recorded steps as NDJSON, a page at a time, oldest first; a page has what fits into an answer. An extension of ours.",
      request: z.object({
        episode_id: z.string().default(""),
        cursor: z.int().min(0).default(0).describe("Where the last page ended."),
        limit: z.int().min(1).max(10_000).default(1000),
      }),
      result: z.object({
        ndjson: z.string(),
        count: z.int(),
        next_cursor: z.int().nullable().describe("Null at the end."),
      }),
      example: { request: {}, result: { ndjson: "", count: 0, next_cursor: null } },
    }),
    resetData: call("env/data/reset/req", "env/data/reset/resp", {
      doc: "Puts the data of this session back to the host's baseline. Episodes go on.",
      request: z.object({
        scope: z.enum(["all", "baseline"]).default("all").describe("`baseline` keeps what was added."),
        data_root: dataRoot,
      }),
      result: z.object({
        ok: z.boolean().default(true),
        restored: z.int().default(0),
        data_root: z.string(),
        detail: z.string().default(""),
      }),
      example: { request: {}, result: { ok: true, restored: 2, data_root: "/workspace/data" } },
    }),
    addData: call("env/data/add/req", "env/data/add/resp", {
      doc: "Stages files of the host for this session; no bytes travel. A part that fails does not stop the others.",
      request: z.object({
        parts: z
          .array(
            z.object({
              src: z.string().default("").describe("A file in a folder that the host allows."),
              dest: z.string().default("").describe("Where it goes below the data root; its own name where left out."),
              uri: z.string().default("").describe("A name that is kept with it."),
              checksum: z.string().default("").describe("`sha256:` and 64 hexadecimal digits, to be verified."),
              size_bytes: z.int().nullable().default(null),
              mime: z.string().default(""),
            }),
          )
          .default([]),
        data_root: dataRoot,
      }),
      result: z.object({
        ok: z.boolean().default(true).describe("False where a part failed."),
        added: z.int().default(0),
        errors: z.array(z.string()).default([]),
        staged: z.array(dataItem).default([]),
      }),
      example: {
        request: { parts: [{ src: "orders.csv", dest: "orders.csv", uri: "orders", mime: "text/csv" }] },
        result: { ok: true, added: 1 },
      },
    }),
    getData: call("env/data/get/req", "env/data/get/resp", {
      doc: "Lists files of the data of this session, with their content only on request.",
      request: z.object({
        query: z.string().max(1000).default("").describe("A pattern (`*`, `**`, `?`) or a part of the path."),
        include_content: z.boolean().default(false),
        max_bytes: z.int().min(0).default(1_048_576).describe("Larger files come without content."),
        data_root: dataRoot,
      }),
      result: z.object({
        ok: z.boolean().default(true),
        items: z.array(dataItem).default([]),
        truncated: z.boolean().default(false).describe("Some content or items were left out."),
        detail: z.string().default(""),
      }),
      example: { request: { query: "*.csv" }, result: { ok: true, items: [] } },
    }),
  },
  pushes: { state: statePush },
});
