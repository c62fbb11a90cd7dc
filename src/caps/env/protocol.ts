import * as z from "zod";
import { errorPayload } from "../../protocol/core.ts";
import { jsonObject, jsonValue } from "../../protocol/json.ts";
import { call, capability, push } from "../../protocol/table/capability.ts";

const observation = z.object({
  episode_id: z.string(),
  step_num: z.int(),
  state: jsonObject.describe(
    "The observation that the agent sees. A value that is not an object is sent as `{value}`.",
  ),
  done: z.boolean().default(false).describe("The episode reached its natural end."),
  truncated: z.boolean().default(false).describe("The episode was cut short, for example by its step limit."),
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
    "How a step treats a completed episode. `disabled`: the next step fails. `next_step`: the next step ignores its action and starts over. `same_step`: the last step starts over at once and has the last observation in `metadata.final_observation`.",
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
  feedback: z.array(z.number()).optional().describe("Rewards that the agent reported with env/reward."),
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

/** Agents that were written from the documentation look for these fields at the top of the answer. */
const mirrors = {
  episode_id: "obs.episode_id",
  observation: "obs.state",
  reward: "obs.reward",
  done: "obs.done",
  truncated: "obs.truncated",
};

const episodeId = z.string().default("").describe("Without it, the episode of the last reset.");
const action = jsonValue.describe(
  "Bare, as `{value}`, as `{type, …}` or as `{action_type, payload, metadata}`; checked against the action space.",
);

const dataRoot = z
  .string()
  .max(200)
  .default("/workspace/data")
  .describe("The name of a folder of this session; it is not a path on the host.");

export const statePush = push("env/state/push", {
  doc: "An event of an episode. Sent only to agents that asked for `env_push` in the handshake.",
  aliases: ["env/state_push"],
  payload: z.object({
    episode_id: z.string(),
    step_id: z.int(),
    action_id: z.string().nullable().default(null),
    event_type: z.string(),
    reason: z.string().default(""),
    delta: jsonObject.default({}).describe("The fields that changed, and only those."),
    state_delta: jsonObject.default({}).describe("The same value as `delta`."),
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
  features: { env_push: "The host pushes the events of environments with env/state/push." },
  errors: {
    unknown_env: {
      retryable: false,
      doc: "The host has no environment with this name; `detail.available` lists its environments.",
    },
    unknown_action: {
      retryable: false,
      doc: "The action is not in the action space; `detail.allowed` describes its actions.",
    },
    reset_denied: {
      retryable: false,
      doc: "The environment rejected the options of the reset, or the session has too many episodes.",
    },
  },
  resources: { env: "An environment, by its name." },
  calls: {
    reset: call("env/reset/req", "env/reset/resp", {
      asTool: { effect: "adds" },
      about: { access: "write", resource: "env", from: "env_name" },
      doc: "Starts an episode. Other episodes of the session continue.",
      request: z.object({
        env_name: z.string().default("").describe("Without it, the default environment of the host."),
        seed: z
          .int()
          .nullable()
          .default(null)
          .describe(
            "Reproduces an episode bit for bit. Without it, the host draws a seed and returns it in `obs.metadata.seed`.",
          ),
        options: jsonObject.default({}).describe("Options of the environment; see its description."),
        record: z
          .boolean()
          .optional()
          .describe(
            "Whether to record the steps as experiences; overrides the default of the host. An extension of ours.",
          ),
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
      about: { access: "write", resource: "env", instance: "episode_id" },
      doc: "Acts in an episode.",
      request: z.object({ episode_id: episodeId, action }),
      result: observed,
      mirrors,
      example: { request: { episode_id: exampleId, action: inc }, result: { obs: exampleObservation } },
    }),
    observe: call("env/observe/req", "env/observe/resp", {
      asTool: { effect: "reads" },
      about: { access: "read", resource: "env", instance: "episode_id" },
      doc: "Returns the current observation of an episode without acting.",
      request: z.object({ episode_id: episodeId }),
      result: observed,
      mirrors,
      example: { request: { episode_id: exampleId }, result: { obs: exampleObservation } },
    }),
    close: call("env/close/req", "env/close/resp", {
      asTool: { effect: "destroys" },
      about: { access: "write", resource: "env", instance: "episode_id" },
      doc: "Closes an episode. Closing an episode that does not exist succeeds.",
      request: z.object({ episode_id: episodeId }),
      result: z.object({ closed: z.boolean().default(true) }),
      example: { request: { episode_id: exampleId }, result: { closed: true } },
    }),
    space: call("env/space/req", "env/space/resp", {
      asTool: { effect: "reads" },
      about: {
        access: "read",
        resource: "env",
        from: "env_name",
        shows: { at: "environments", name: "name", usedBy: "reset" },
      },
      doc: "Describes the actions and observations of an environment, and lists the environments of the host.",
      aliases: { "env/spaces/req": "env/spaces/resp" },
      request: z.object({ env_name: z.string().default("") }),
      result: z.object({
        env_name: z.string(),
        description: z.string().default(""),
        action_space: jsonObject.describe("JSON Schema of an action, with the space itself under `x-space`."),
        state_schema: jsonObject.describe("JSON Schema of `obs.state`."),
        observation_space: jsonObject.describe("The space of the observation, before it is wrapped as `obs.state`."),
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
      about: { access: "read", resource: "env", instance: "episode_id" },
      doc: "Renders an episode as `text`, `json`, `screenshot` (an image as a data URL) or in a mode of the environment. The result is null if the environment does not support the mode.",
      request: z.object({ episode_id: episodeId, mode: z.string().nullable().default("screenshot") }),
      result: z.object({ render: jsonValue.nullable() }),
      example: { request: { episode_id: exampleId, mode: "text" }, result: { render: "count: 1" } },
    }),
    plan: call("env/plan/req", "env/plan/resp", {
      about: { access: "read", resource: "env", instance: "episode_id" },
      doc: "Suggests actions for the current state, best first. Each can be sent to env/step unchanged.",
      // One SDK uses the type of the answer for its request; such a request has no req_id.
      aliases: { "env/plan/resp": "env/plan/resp" },
      request: z.object({
        episode_id: z.string().nullable().default(null),
        state: jsonObject
          .nullable()
          .default(null)
          .describe("Plan for this state instead of the current one, if the environment supports it."),
      }),
      result: z.object({ suggested_actions: z.array(jsonObject).default([]) }),
      example: { request: { episode_id: exampleId }, result: { suggested_actions: [{ type: "inc" }] } },
    }),
    batchStep: call("env/batch_step/req", "env/batch_step/resp", {
      about: { access: "write", resource: "env", instance: ["episode_ids.*", "episode_id"] },
      doc: "Steps several episodes, or one episode several times. Each item has its own result or error.",
      request: z.object({
        episode_ids: z.array(z.string()).default([]),
        actions: z
          .array(jsonValue)
          .default([])
          .describe(
            "One action per episode of `episode_ids`; without `episode_ids`, the actions are taken in order in `episode_id`.",
          ),
        episode_id: z.string().default("").describe("The episode to step if `episode_ids` is left out."),
        autoreset: autoreset.optional(),
      }),
      result: z.object({
        results: z.array(
          z.object({
            req_id: z.string().default(""),
            obs: observation.describe("For an item that failed, the current observation of the episode."),
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
      about: { access: "read", resource: "env", instance: "episode_id" },
      doc: "Tries each action on a copy of an episode and leaves the episode unchanged. An extension of ours.",
      request: z.object({
        episode_id: episodeId,
        actions: z.array(jsonValue).min(1),
        seed: z
          .int()
          .nullable()
          .default(null)
          .describe(
            "Seed for the random numbers of the copies. Without it, each outcome is the same as a step would have.",
          ),
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
      about: { access: "write", resource: "env", instance: "episode_id" },
      doc: "Copies an episode. The copy is an independent episode; leave it unused to have a checkpoint for env/restore. An extension of ours.",
      request: z.object({
        episode_id: episodeId,
        seed: z
          .int()
          .nullable()
          .default(null)
          .describe("Seed for the random numbers of the copy. Without it, they continue as in the original."),
      }),
      result: observed.extend({ forked_from: z.string() }),
      mirrors,
      example: {
        request: { episode_id: exampleId },
        result: { obs: { ...exampleObservation, episode_id: exampleCopyId }, forked_from: exampleId },
      },
    }),
    restore: call("env/restore/req", "env/restore/resp", {
      about: { access: "write", resource: "env", instance: ["episode_id", "from_episode_id"] },
      doc: "Replaces the state of an episode, random numbers included, with that of another episode, which stays unchanged. An extension of ours.",
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
      about: { access: "write", resource: "env", instance: "episode_id" },
      doc: "Reports a reward given by the agent itself. It is stored with the recorded step, beside the reward of the environment; a step that was not recorded stores nothing.",
      aliases: { "env/reward/req": "env/reward/resp" },
      request: z.object({
        episode_id: episodeId,
        step_num: z.int().min(0).optional().describe("The step that is rewarded. Without it, the last step."),
        reward: z.number(),
      }),
      result: z.object({ ok: z.boolean().default(true), step_num: z.int() }),
      example: { request: { episode_id: exampleId, reward: 0.5 }, result: { ok: true, step_num: 1 } },
    }),
    listExperiences: call("env/exp/list/req", "env/exp/list/resp", {
      about: { access: "read", resource: "env", instance: "episode_id" },
      doc: "Lists the recorded steps of this session, newest last.",
      request: z.object({
        episode_id: z.string().default("").describe("Without it, all episodes."),
        limit: z
          .int()
          .min(0)
          .default(100)
          .describe("At most this many of the newest steps, and at most as many as fit into one answer."),
      }),
      result: z.object({ episodes: z.array(experience).default([]), total: z.int().default(0) }),
      example: { request: { limit: 10 }, result: { episodes: [], total: 0 } },
    }),
    exportExperiences: call("env/exp/export/req", "env/exp/export/resp", {
      about: { access: "read", resource: "env", instance: "episode_id" },
      doc: "Exports recorded steps as NDJSON in pages, oldest first. A page has at most as many steps as fit into one answer. An extension of ours.",
      request: z.object({
        episode_id: z.string().default(""),
        cursor: z.int().min(0).default(0).describe("`next_cursor` of the page before."),
        limit: z.int().min(1).max(10_000).default(1000),
      }),
      result: z.object({
        ndjson: z.string(),
        count: z.int(),
        next_cursor: z.int().nullable().describe("Null on the last page."),
      }),
      example: { request: {}, result: { ndjson: "", count: 0, next_cursor: null } },
    }),
    resetData: call("env/data/reset/req", "env/data/reset/resp", {
      about: { access: "write" },
      doc: "Resets the data of this session to the baseline of the host. Episodes continue.",
      request: z.object({
        scope: z.enum(["all", "baseline"]).default("all").describe("`baseline` keeps the files that were added."),
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
      about: { access: "write" },
      doc: "Copies files of the host into a data root of this session; their content is not sent. A part that fails does not stop the others.",
      request: z.object({
        parts: z
          .array(
            z.object({
              src: z.string().default("").describe("A file in a folder that the host allows."),
              dest: z.string().default("").describe("Path below the data root. Without it, the name of the file."),
              uri: z.string().default("").describe("A name that is stored with the file."),
              checksum: z
                .string()
                .default("")
                .describe("`sha256:` and 64 hexadecimal digits. If given, the copy is checked against it."),
              size_bytes: z.int().nullable().default(null),
              mime: z.string().default(""),
            }),
          )
          .default([]),
        data_root: dataRoot,
      }),
      result: z.object({
        ok: z.boolean().default(true).describe("False if a part failed."),
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
      about: { access: "read" },
      doc: "Lists the files of a data root of this session, with their content if requested.",
      request: z.object({
        query: z.string().max(1000).default("").describe("A pattern (`*`, `**`, `?`) or a substring of the path."),
        include_content: z.boolean().default(false),
        max_bytes: z.int().min(0).default(1_048_576).describe("Larger files are returned without content."),
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
