// The env capability: an episode from its reset to its end. Other requests to an environment are in environments.ts.
import type { Message } from "../../../protocol/envelope.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType, only } from "../../check.ts";
import { sharedHost } from "../../link.ts";
import type { Peer } from "../../peer.ts";
import type { Requirement } from "../../requirement.ts";

/** The observation in an answer, which has the same shape in every kind of answer. */
export function observationOf(answer: Message, type: string): JsonObject {
  return asObject(checkType(answer, type).obs, "obs");
}

export async function reset(peer: Peer, env_name = "counter_env", fields: object = {}): Promise<JsonObject> {
  return observationOf(await peer.request("env/reset/req", { env_name, ...fields }), "env/reset/resp");
}

export async function step(peer: Peer, { episode_id }: JsonObject, action: JsonValue): Promise<JsonObject> {
  return observationOf(await peer.request("env/step/req", { episode_id, action }), "env/step/resp");
}

export async function observe(peer: Peer, { episode_id }: JsonObject): Promise<JsonObject> {
  return observationOf(await peer.request("env/observe/req", { episode_id }), "env/observe/resp");
}

const needs = { capability: "env", environments: ["counter_env"] } as const;
const onIce = { capability: "env", environments: ["FrozenLake-v1"] } as const;
const inc = { type: "inc" };

/** The squares that a walk of fixed actions visits. */
async function walk(peer: Peer, seed: number): Promise<unknown[]> {
  const start = await reset(peer, "FrozenLake-v1", { seed });
  const actions = Array.from({ length: 12 }, (_, at) => ({ value: (at % 2) + 1 }));
  const { episode_id } = start;
  const answer = checkType(await peer.request("env/batch_step/req", { episode_id, actions }), "env/batch_step/resp");
  return asArray(answer.results, "results").map((item) => {
    const { state, reward, done } = asObject(asObject(item, "results[]").obs, "obs");
    return [state, reward, done];
  });
}

export const episodes: readonly Requirement[] = [
  {
    id: "ENVS-1",
    title: "a reset starts an episode with an id, step 0, a fresh state, neither done nor truncated",
    source: "env plugin tests; wire facts E7",
    level: "must",
    needs,
    async run({ agent }) {
      const obs = await reset(await agent());
      check(typeof obs.episode_id === "string" && obs.episode_id !== "", `episode_id: ${obs.episode_id}`);
      checkEqual([obs.step_num, obs.state, obs.done, obs.truncated], [0, { count: 0 }, false, false], "observation");
      check(typeof obs.created_at === "number" && obs.created_at > 0, `created_at: ${obs.created_at}`);
      asObject(obs.metadata, "metadata");
    },
  },
  {
    id: "ENVS-2",
    title:
      "the observation is under obs, and for docs peers episode_id, observation, reward, done and truncated beside it",
    source: "wire facts E7",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const { episode_id } = await reset(peer);
      const answers = [
        await peer.request("env/reset/req", { env_name: "counter_env" }),
        await peer.request("env/step/req", { episode_id, action: inc }),
        await peer.request("env/observe/req", { episode_id }),
      ];
      for (const { obs, ...answer } of answers) {
        const { state, ...rest } = asObject(obs, "obs");
        checkEqual(answer.observation, state, `observation of ${answer.type}`);
        for (const field of ["episode_id", "reward", "done", "truncated"])
          checkEqual(answer[field], rest[field], `${field} of ${answer.type}`);
      }
    },
  },
  {
    id: "ENVS-3",
    title: "steps are counted from 1, and observing does not advance",
    source: "env plugin tests",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      for (const count of [1, 2, 3]) {
        const obs = await step(peer, start, inc);
        checkEqual([obs.step_num, obs.state, obs.reward], [count, { count }, 1], "step");
        const seen = await observe(peer, start);
        checkEqual([seen.step_num, seen.state, seen.reward], [count, { count }, 1], "observation after it");
      }
    },
  },
  {
    id: "ENVS-4",
    title: "every reset starts an episode of its own, and episodes of a session continue independently",
    source: "env plugin tests; wire facts E10",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const [one, other] = [await reset(peer), await reset(peer)];
      check(one.episode_id !== other.episode_id, `two episodes have the id ${one.episode_id}`);
      await step(peer, one, inc);
      await step(peer, other, { type: "dec" });
      checkEqual((await observe(peer, one)).state, { count: 1 }, "state of the first");
      checkEqual((await observe(peer, other)).state, { count: -1 }, "state of the second");
    },
  },
  {
    id: "ENVS-5",
    title: "a request without an episode_id means the episode of the last reset",
    source: "client tests; wire facts E10",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      await reset(peer);
      const last = await reset(peer);
      checkEqual((await step(peer, {}, inc)).episode_id, last.episode_id, "episode of the step");
      checkEqual((await observe(peer, {})).episode_id, last.episode_id, "episode of the observation");
    },
  },
  {
    id: "ENVS-6",
    title: "an action may be written as {type} or as {action_type, payload, metadata}",
    source: "wire facts E8",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      for (const [count, action] of [
        [1, { type: "inc" }],
        [3, { type: "inc", amount: 2 }],
        [4, { action_type: "inc" }],
        // The SDK's own default for a payload is a list.
        [5, { action_type: "inc", payload: [], metadata: null }],
        [8, { action_type: "inc", payload: { amount: 3 }, metadata: { why: "test" } }],
      ] as const)
        checkEqual((await step(peer, start, action as unknown as JsonValue)).state, { count }, JSON.stringify(action));
    },
  },
  {
    id: "ENVS-7",
    title: "the end is done and not truncated, and a step after it is rejected and changes nothing",
    source: "env plugin tests",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      const last = await step(peer, start, { type: "inc", amount: 10 });
      checkEqual([last.done, last.truncated], [true, false], "done and truncated");
      const { episode_id } = start;
      const error = checkError(await peer.request("env/step/req", { episode_id, action: inc }), "runtime_error");
      check(String(error.message).includes("Episode already completed"), `message: ${error.message}`);
      checkEqual((await observe(peer, start)).state, { count: 10 }, "state afterwards");
    },
  },
  {
    id: "ENVS-8",
    title: "an episode that reaches its step limit is truncated and not done, and takes no further step",
    source: "env client tests (is_done = done OR truncated)",
    level: "must",
    needs: onIce,
    async run({ agent }) {
      const peer = await agent();
      const { max_steps } = checkType(
        await peer.request("env/space/req", { env_name: "FrozenLake-v1" }),
        "env/space/resp",
      );
      const { episode_id } = await reset(peer, "FrozenLake-v1", { options: { is_slippery: false } });
      // On firm ice, going left in the first corner leads nowhere.
      const actions = Array.from({ length: Number(max_steps) }, () => ({ value: 0 }));
      const { results } = await peer.request("env/batch_step/req", { episode_id, actions });
      const last = asObject(asObject(asArray(results, "results").at(-1), "results[]").obs, "obs");
      checkEqual([last.step_num, last.done, last.truncated], [max_steps, false, true], "step, done and truncated");
      checkError(await peer.request("env/step/req", { episode_id, action: { value: 0 } }), "runtime_error");
    },
  },
  {
    id: "ENVS-9",
    title: "without an episode, step, observe, render and plan are answered with an error that names the problem",
    source: "env plugin tests; wire facts E6",
    level: "must",
    needs,
    async run({ connectAs }) {
      const peer = await connectAs("conformance");
      for (const type of ["env/step/req", "env/observe/req", "env/render/req", "env/plan/req"]) {
        const error = checkError(await peer.request(type, { action: inc }), "runtime_error");
        check(String(error.message).includes("No active episode"), `message of ${type}: ${error.message}`);
      }
      checkEqual((await peer.request("env/close/req")).closed, true, "closed, where there was nothing to close");
    },
  },
  {
    id: "ENVS-10",
    title: "an episode_id that the session does not have is refused, and not taken for the current episode",
    source: "wire facts E10",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      for (const episode_id of ["no-such-episode", "__proto__", "../x"])
        checkError(await peer.request("env/step/req", { episode_id, action: inc }), "runtime_error");
      checkEqual((await observe(peer, start)).step_num, 0, "steps of the current episode");
    },
  },
  {
    id: "ENVS-11",
    title: "a closed episode is removed, others continue, and closing it again is allowed",
    source: "env plugin tests; env client tests",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const [kept, closed] = [await reset(peer), await reset(peer)];
      const { episode_id } = closed;
      for (const _ of [1, 2]) {
        const answer = checkType(await peer.request("env/close/req", { episode_id }), "env/close/resp");
        checkEqual(answer.closed, true, "closed");
      }
      checkError(await peer.request("env/observe/req", { episode_id }), "runtime_error");
      checkEqual((await observe(peer, kept)).episode_id, kept.episode_id, "the other episode");
    },
  },
  {
    id: "ENVS-12",
    title:
      "an action outside the action space is rejected with unknown_action and the allowed actions, and is not a step",
    source: "error codes page; guide: environments",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      for (const action of [{ type: "jump" }, { type: "inc", amount: "much" }, { type: "__proto__" }, 7, null, []]) {
        const { episode_id } = start;
        const error = checkError(await peer.request("env/step/req", { episode_id, action }), "unknown_action");
        const allowed = JSON.stringify(asObject(error.detail, "detail").allowed);
        check(allowed.includes("inc") && allowed.includes("dec"), `detail.allowed: ${allowed}`);
      }
      checkEqual((await observe(peer, start)).step_num, 0, "steps afterwards");
    },
  },
  {
    id: "ENVS-13",
    title: "an environment that the host does not have is refused with unknown_env and those that it has",
    source: "wire facts E10",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const type of ["env/reset/req", "env/space/req"]) {
        const error = checkError(await peer.request(type, { env_name: "no_such_env" }), "unknown_env");
        const available = asArray(asObject(error.detail, "detail").available, "detail.available");
        check(available.includes("counter_env"), `detail.available: ${available.join(", ")}`);
      }
    },
  },
  {
    id: "ENVS-14",
    title: "a reset with invalid options is rejected with reset_denied, and the current episode continues",
    source: "error codes page",
    level: "should",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      for (const count of [10, 0.5, "many"])
        checkError(
          await peer.request("env/reset/req", { env_name: "counter_env", options: { count } }),
          "reset_denied",
        );
      checkEqual((await observe(peer, {})).episode_id, start.episode_id, "current episode");
    },
  },
  {
    id: "ENVS-15",
    title: "a seed reproduces an episode, and other seeds make others",
    source: "env docs (seed)",
    level: "must",
    needs: onIce,
    async run({ agent }) {
      const peer = await agent();
      checkEqual(await walk(peer, 7), await walk(peer, 7), "two walks with one seed");
      const walks = await Promise.all([1, 2, 3, 4, 5].map((seed) => walk(peer, seed)));
      check(new Set(walks.map((one) => JSON.stringify(one))).size > 1, "five seeds should not all lead the same way");
    },
  },
  {
    id: "ENVS-16",
    title: "a seed chosen by the host is returned, and reproduces the episode",
    source: "extension: metadata.seed",
    level: "extension",
    needs: onIce,
    async run({ agent }) {
      const { seed } = asObject((await reset(await agent(), "FrozenLake-v1")).metadata, "metadata");
      check(Number.isInteger(seed), `metadata.seed: ${seed}`);
    },
  },
  {
    id: "ENVS-17",
    title: "no session reaches an episode of another, even by its id",
    source: "sessions are isolated",
    level: "must",
    needs,
    transports: sharedHost,
    async run({ agent, connectAs }) {
      const [owner, other] = [await agent(), await connectAs("conformance")];
      const start = await reset(owner);
      const { episode_id } = start;
      for (const type of ["env/step/req", "env/observe/req", "env/render/req", "env/plan/req", "env/what_if/req"])
        checkError(await other.request(type, { episode_id, action: inc, actions: [inc] }), "runtime_error");
      checkType(await other.request("env/close/req", { episode_id }), "env/close/resp");
      checkEqual((await observe(owner, start)).step_num, 0, "steps of the owner's episode");
    },
  },
  {
    id: "ENVS-18",
    title: "the end of an episode is pushed before the answer to an agent that asked for env_push, and to no other",
    source: "env plugin tests (push); wire facts E2, E9",
    level: "must",
    needs,
    async run({ connect, agent, token, survey }) {
      const asked = await connect();
      await asked.request("handshake/req", {
        agent_id: "conformance",
        agent_caps: [...survey.granted, "env_push"],
        auth_token: token,
      });
      const end = async (peer: Peer) => {
        const start = await reset(peer);
        const count = peer.received.length;
        await step(peer, start, { type: "inc", amount: 10 });
        return { start, pushed: peer.received.slice(count).filter(({ type }) => type === "env/state/push") };
      };
      const { start, pushed } = await end(asked);
      const push = only(pushed, "push");
      checkEqual([push.episode_id, push.step_id], [start.episode_id, 1], "episode_id and step_id");
      checkEqual([push.event_type, push.terminal], ["termination", true], "event_type and terminal");
      checkEqual([push.delta, push.state_delta], [{ count: 10 }, { count: 10 }], "delta and state_delta");
      checkEqual((await end(await agent())).pushed, [], "pushes to an agent that did not ask");
    },
  },
  {
    id: "ENVS-19",
    title: "a docs peer is sent the same under env/state_push",
    source: "wire facts E2",
    level: "should",
    needs,
    async run({ connect, token }) {
      const peer = await connect();
      const docs = { version: undefined, a2e: "1.0" };
      await peer.request("handshake/req", { ...docs, agent_caps: ["env", "env_push"], auth_token: token });
      await reset(peer, "counter_env", docs);
      await peer.request("env/step/req", { ...docs, action: { action_type: "inc", payload: { amount: 10 } } });
      const push = await peer.find(({ type }) => type === "env/state_push", "env/state_push");
      checkEqual(push.state_delta, { count: 10 }, "state_delta");
    },
  },
];
