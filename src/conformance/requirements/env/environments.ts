// The env capability beside the life of an episode: descriptions of environments, many steps at once, experiences.
import type { Message } from "../../../protocol/envelope.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { asArray, asObject, asObjects, check, checkEqual, checkError, checkType } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";
import { observationOf, observe, reset, step } from "./episodes.ts";

const needs = { capability: "env", environments: ["counter_env"] } as const;
const inc = { type: "inc" };

export const environments: readonly Requirement[] = [
  {
    id: "ENVS-20",
    title: "env/space and env/spaces are answered in their own family, with action_space and state_schema",
    source: "wire facts E1, E4, E5; env plugin tests",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const family of ["env/space", "env/spaces"]) {
        const answer = checkType(await peer.request(`${family}/req`, { env_name: "counter_env" }), `${family}/resp`);
        const text = JSON.stringify(asObject(answer.action_space, "action_space"));
        check(text.includes("inc") && text.includes("dec"), `action_space: ${text}`);
        asObject(answer.state_schema, "state_schema");
      }
    },
  },
  {
    id: "ENVS-21",
    title: "a space lists the environments, their step limit and how they start again",
    source: "extension: env/space",
    level: "extension",
    needs,
    async run({ agent }) {
      const answer = await (await agent()).request("env/space/req", { env_name: "counter_env" });
      check(
        asObjects(answer.environments, "environments").some(({ name }) => name === "counter_env"),
        "environments should name counter_env",
      );
      check(Number(answer.max_steps) > 0, `max_steps: ${answer.max_steps}`);
      const { mode, modes } = asObject(answer.autoreset, "autoreset");
      check(asArray(modes, "modes").includes(mode ?? null), `mode ${mode} should be one of modes`);
    },
  },
  {
    id: "ENVS-22",
    title: "render shows the state as text, an object as json, and null for an unknown mode",
    source: "env plugin tests; wire facts E12",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      await step(peer, start, { type: "inc", amount: 7 });
      const { episode_id } = start;
      const render = async (mode?: string) => {
        const answer = checkType(await peer.request("env/render/req", { episode_id, mode }), "env/render/resp");
        check("render" in answer, "render is missing");
        return answer.render;
      };
      check(String(await render("text")).includes("7"), "the text should show the state");
      checkEqual(await render("json"), { count: 7 }, "json");
      checkEqual(await render("no such mode"), null, "a mode that nobody knows");
      await render();
    },
  },
  {
    id: "ENVS-23",
    title: "env/plan suggests actions as objects that can be stepped as they are",
    source: "wire facts E3, E4, E5",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      const { episode_id } = start;
      const answer = checkType(await peer.request("env/plan/req", { episode_id }), "env/plan/resp");
      const [first] = asObjects(answer.suggested_actions, "suggested_actions");
      check(first !== undefined, "the counter should have something to suggest");
      checkEqual((await step(peer, start, first)).step_num, 1, "step_num");
    },
  },
  {
    id: "ENVS-24",
    title: "a request typed env/plan/resp, as one SDK spells it, is answered like env/plan/req",
    source: "wire facts E3",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const { episode_id } = await reset(peer);
      const expected = (await peer.request("env/plan/req", { episode_id })).suggested_actions;
      for (const fields of [{ episode_id }, { episode_id: null, state: null }]) {
        const answer = checkType(await peer.request("env/plan/resp", fields), "env/plan/resp");
        checkEqual(answer.suggested_actions, expected, "suggested_actions");
      }
    },
  },
  {
    id: "ENVS-25",
    title: "batch_step acts in many episodes, and an item that fails has its error and disturbs no other",
    source: "wire facts E4, E11",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const [one, other] = [await reset(peer), await reset(peer)];
      const episode_ids = [one.episode_id, other.episode_id, "no-such-episode", other.episode_id];
      const actions = [inc, { type: "jump" }, inc, inc];
      const answer = checkType(
        await peer.request("env/batch_step/req", { episode_ids, actions }),
        "env/batch_step/resp",
      );
      const items = asObjects(answer.results, "results");
      checkEqual(
        items.map(({ error }) => (error === undefined ? undefined : asObject(error, "error").code)),
        [undefined, "unknown_action", "runtime_error", undefined],
        "errors",
      );
      // The SDK cannot read an item without an observation.
      for (const { obs } of items) asObject(obs, "obs");
      for (const start of [one, other]) checkEqual((await observe(peer, start)).state, { count: 1 }, "state");
    },
  },
  {
    id: "ENVS-26",
    title: "batch_step with one episode_id performs the actions in order, and lists of unequal length are rejected",
    source: "wire facts E11",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      const { episode_id } = start;
      const { results } = await peer.request("env/batch_step/req", { episode_id, actions: [inc, inc, inc] });
      checkEqual(
        asObjects(results, "results").map(({ obs }) => asObject(obs, "obs").step_num),
        [1, 2, 3],
        "step numbers",
      );
      checkError(
        await peer.request("env/batch_step/req", { episode_ids: [episode_id], actions: [inc, inc] }),
        "schema_violation",
      );
      checkEqual((await observe(peer, start)).step_num, 3, "steps afterwards");
    },
  },
  {
    id: "ENVS-27",
    title: "what_if returns the outcome of actions, leaves the episode unchanged, and is correct",
    source: "extension: env/what_if",
    level: "extension",
    needs: { capability: "env", environments: ["FrozenLake-v1"] },
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer, "FrozenLake-v1", { seed: 3 });
      const { episode_id } = start;
      const actions = [{ value: 0 }, { value: 1 }, { value: 2 }, { value: 9 }];
      const ask = async () => {
        const answer = checkType(await peer.request("env/what_if/req", { episode_id, actions }), "env/what_if/resp");
        return asObjects(answer.outcomes, "outcomes");
      };
      const [, down, , impossible] = await ask();
      checkEqual(asObject(impossible?.error, "error").code, "unknown_action", "code of an impossible action");
      const before = await observe(peer, start);
      checkEqual([before.step_num, before.state], [0, start.state], "the episode after what_if");
      const promised = asObject(down?.obs, "obs");
      const real = await step(peer, start, { value: 1 });
      checkEqual([real.state, real.reward], [promised.state, promised.reward], "a step that what_if foretold");
    },
  },
  {
    id: "ENVS-31",
    title: "a fork of an episode is independent with the same random numbers, and an episode can be restored from it",
    source: "extension: env/fork, env/restore",
    level: "extension",
    needs: { capability: "env", environments: ["FrozenLake-v1"] },
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer, "FrozenLake-v1", { seed: 3 });
      const { episode_id } = start;
      const copy = observationOf(await peer.request("env/fork/req", { episode_id }), "env/fork/resp");
      check(copy.episode_id !== episode_id, "the copy should be another episode");
      const first = await step(peer, start, { value: 1 });
      checkEqual((await observe(peer, copy)).step_num, 0, "steps of the copy");
      const request = { episode_id, from_episode_id: copy.episode_id };
      const back = observationOf(await peer.request("env/restore/req", request), "env/restore/resp");
      checkEqual([back.step_num, back.state], [0, start.state], "the episode after it was put back");
      for (const obs of [start, copy]) {
        const again = await step(peer, obs, { value: 1 });
        checkEqual([again.state, again.reward], [first.state, first.reward], "the same step again");
      }
    },
  },
  {
    id: "ENVS-28",
    title: "env/reward is taken in both spellings and never changes the reward of the environment",
    source: "wire facts E15",
    level: "should",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer);
      await step(peer, start, inc);
      const { episode_id } = start;
      for (const type of ["env/reward", "env/reward/req"]) {
        const answer = checkType(await peer.request(type, { episode_id, reward: -5 }), "env/reward/resp");
        checkEqual([answer.ok, answer.step_num], [true, 1], "ok and step_num");
      }
      checkEqual((await observe(peer, start)).reward, 1, "reward");
    },
  },
  {
    id: "ENVS-29",
    title: "recorded steps are listed as state, action, reward, next_state and done, and exported as NDJSON",
    source: "wire facts E4 (exp/list); extension: record, env/exp/export",
    level: "extension",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const start = await reset(peer, "counter_env", { record: true });
      const { episode_id } = start;
      for (const _ of [1, 2, 3]) await step(peer, start, inc);
      const list = checkType(await peer.request("env/exp/list/req", { episode_id, limit: 2 }), "env/exp/list/resp");
      const recorded = asObjects(list.episodes, "episodes");
      checkEqual([list.total, recorded.length], [3, 2], "total and number");
      const [second] = recorded;
      checkEqual(
        [second?.state, second?.action, second?.reward, second?.next_state, second?.done],
        [{ count: 1 }, inc, 1, { count: 2 }, false],
        "experience",
      );
      const lines: string[] = [];
      for (let cursor: unknown = 0; cursor !== null; ) {
        const page: Message = await peer.request("env/exp/export/req", { episode_id, cursor, limit: 2 });
        lines.push(...String(page.ndjson).trimEnd().split("\n"));
        cursor = page.next_cursor ?? null;
      }
      checkEqual(
        lines.map((line) => (JSON.parse(line) as JsonObject).step_num),
        [1, 2, 3],
        "exported steps",
      );
    },
  },
  {
    id: "ENVS-30",
    title: "an agent on the SDK resets, steps, observes and closes with every field that its models have",
    source: "env client tests",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const obs = await reset(peer, "counter_env", { seed: null, options: {} });
      const { episode_id } = obs;
      const action = { action_type: "inc", payload: {}, metadata: {} };
      const stepped = await peer.request("env/step/req", { episode_id, action });
      asObject(observationOf(stepped, "env/step/resp").state, "state");
      checkType(await peer.request("env/observe/req", { episode_id }), "env/observe/resp");
      checkType(await peer.request("env/render/req", { episode_id, mode: "screenshot" }), "env/render/resp");
      checkEqual((await peer.request("env/close/req", { episode_id })).closed, true, "closed");
    },
  },
];
