// The calls of the env capability, for one session.

import { isLargerThan } from "../../machinery/validation/json-size.ts";
import type { Handlers, SessionContext, SessionPart } from "../../plugin/plugin.ts";
import { andThen } from "../../protocol/awaitable.ts";
import { A2EError } from "../../protocol/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../protocol/json.ts";
import { toWireObject, wireSchema } from "./action.ts";
import { DataPlane, type DataPlaneOptions } from "./data/data-plane.ts";
import type { EnvEvent, Environment } from "./define-env.ts";
import { keepTogether, stepBatch, tryActions } from "./episodes/batch.ts";
import type { Caller } from "./episodes/caller-turns.ts";
import { Episode } from "./episodes/episode.ts";
import { Episodes } from "./episodes/episodes.ts";
import { Experiences } from "./episodes/experiences.ts";
import { envLimits } from "./limits.ts";
import type { ParsedEnvOptions } from "./options.ts";
import { unknownEnv } from "./problems.ts";
import { type AutoresetMode, autoresetModes, env, type Observation, statePush } from "./protocol.ts";

export function createHandlers(
  context: SessionContext,
  options: ParsedEnvOptions,
  environments: ReadonlyMap<string, Environment>,
  dataOptions: DataPlaneOptions,
): SessionPart<typeof env> {
  const { state, clock, log } = context;
  // Created on first use: most sessions and most forks have neither files nor experiences.
  let plane: DataPlane | undefined;
  const data = () => {
    plane ??= new DataPlane(dataOptions, context);
    return plane;
  };
  let recorded: Experiences | undefined;
  const experiences = () => {
    recorded ??= new Experiences(state, options.max_experiences);
    return recorded;
  };

  const find = (given: string): Environment => {
    const name = given !== "" ? given : options.default_env !== "" ? options.default_env : firstOf(environments);
    const environment = environments.get(name);
    if (environment === undefined) throw unknownEnv(name, [...environments.keys()]);
    return environment;
  };

  const push = (episode: Episode, given: EnvEvent) => {
    if (context.session.granted?.has("env_push") !== true) return;
    try {
      const { delta = {}, ...event } = given;
      const { id: episode_id, stepNum: step_id } = episode;
      context.push(statePush, { episode_id, step_id, ...event, delta, state_delta: delta });
    } catch (error) {
      // An environment may push outside of any call, or from a worker thread, so an invalid event is logged and does
      // not throw.
      log.warn("an environment pushed an invalid event", { env: episode.environment.name, error });
    }
  };

  const episodes = new Episodes(
    context,
    { maxEpisodes: options.max_episodes, whenFull: options.when_full, environment: find },
    {
      clock,
      log,
      maxSteps: options.max_steps,
      push,
      record: (experience) => experiences().add(experience),
      get dataDir() {
        return data().defaultFolder;
      },
    },
  );

  const handlers: Handlers<typeof env> = {
    reset({ env_name, seed, options: asked, record = options.record_experiences }, caller) {
      const environment = find(env_name);
      assertSmall(asked);
      const drawn = seed ?? Math.floor(context.random() * 0x1_0000_0000);
      const start = { seed: drawn, options: asked, isRecorded: record };
      return andThen(episodes.start(environment, start, caller), (episode) => ({ obs: episode.observe() }));
    },

    step({ episode_id, action }, caller) {
      const episode = episodes.get(episode_id);
      const { autoreset } = options;
      caller.charge?.("env_steps", 1);
      if (!(episode instanceof Episode)) return episode.then((opened) => stepOnce(opened, action, autoreset, caller));
      return stepOnce(episode, action, autoreset, caller);
    },

    observe: ({ episode_id }) => andThen(episodes.get(episode_id), (episode) => ({ obs: episode.observe() })),

    close({ episode_id }) {
      episodes.close(episode_id);
      return { closed: true };
    },

    space({ env_name }) {
      const environment = find(env_name);
      const { actionSpace, observationSpace } = environment;
      return {
        env_name: environment.name,
        description: environment.description ?? "",
        action_space: { ...actionSpace.schema, "x-space": actionSpace.form },
        state_schema: wireSchema(observationSpace.schema),
        observation_space: observationSpace.form,
        max_steps: Math.min(environment.maxSteps ?? options.max_steps, options.max_steps),
        autoreset: { mode: options.autoreset, modes: [...autoresetModes] },
        environments: Array.from(environments.values(), ({ name, description = "" }) => ({ name, description })),
      };
    },

    render: ({ episode_id, mode }, caller) =>
      andThen(episodes.get(episode_id), (episode) =>
        andThen(renderIn(episode, mode ?? "screenshot", caller), (render) => ({ render })),
      ),

    plan: ({ episode_id, state: wanted }, caller) =>
      andThen(episodes.get(episode_id ?? ""), (episode) => {
        const other = wanted === null ? undefined : { state: toOwnState(episode, wanted) };
        return andThen(episode.plan(caller, other), (actions) => ({ suggested_actions: actions.map(toWireObject) }));
      }),

    batchStep(request, caller) {
      assertAtMost(request.actions.length, options.max_batch, "max_batch");
      caller.charge?.("env_steps", request.actions.length);
      return stepBatch(episodes, request, request.autoreset ?? options.autoreset, () => clock.now(), caller);
    },

    whatIf({ episode_id, actions, seed }, caller) {
      assertAtMost(actions.length, envLimits.maxWhatIf, "maxWhatIf");
      caller.charge?.("env_steps", actions.length);
      return andThen(episodes.get(episode_id), (episode) => tryActions(episode, actions, seed, caller));
    },

    fork: ({ episode_id, seed }, caller) =>
      andThen(episodes.get(episode_id), ({ id }) =>
        andThen(episodes.fork(id, seed, caller), (copy) => ({ obs: copy.observe(), forked_from: id })),
      ),

    restore: ({ episode_id, from_episode_id }, caller) =>
      andThen(episodes.restore(episode_id, from_episode_id, caller), (episode) => ({ obs: episode.observe() })),

    reward: ({ episode_id, step_num, reward }) =>
      andThen(episodes.get(episode_id), (episode) => {
        // After an autoreset the new round has no step yet, so the last step is the final step of the round before.
        const last = episode.stepNum > 0 ? episode.stepNum : experiences().lastStepOf(episode.id);
        const step = step_num ?? last;
        if (step > last) throw notTaken(step, last);
        experiences().addFeedback(episode.id, step, reward);
        return { ok: true, step_num: step };
      }),

    listExperiences({ episode_id, limit }) {
      const { experiences: listed, total } = experiences().list(episode_id, limit);
      return { episodes: listed, total };
    },

    exportExperiences({ episode_id, cursor, limit }) {
      const { lines, next } = experiences().page(episode_id, cursor, limit);
      return { ndjson: lines.join(""), count: lines.length, next_cursor: next };
    },

    // Files are not part of the session's state: a recording has the results of these calls, and a replay returns them.
    resetData: (request, caller) => context.outside(() => data().reset(request, caller)),
    addData: (request, caller) => context.outside(() => data().add(request, caller)),
    getData: (request, caller) => context.outside(() => data().get(request, caller)),
  };

  return {
    handlers,
    fork(forked) {
      experiences().fork(forked);
      data().fork(forked);
    },
    merge(fork) {
      episodes.merge(fork);
      const { merged, conflicts } = context.outside(() => data().merge(fork));
      return { merged: merged + experiences().merge(fork), conflicts };
    },
    close(isForGood = false) {
      episodes.release();
      return plane === undefined && !isForGood ? undefined : data().close(isForGood);
    },
  };
}

function stepOnce(
  episode: Episode,
  action: JsonValue,
  autoreset: AutoresetMode,
  caller: Caller,
): { obs: Observation } | Promise<{ obs: Observation }> {
  // A step with an autoreset makes two changes that have one answer, so they are committed together.
  const obs =
    autoreset === "disabled"
      ? episode.step(action, caller)
      : keepTogether(caller, (together) => episode.stepWith(action, autoreset, together));
  return obs instanceof Promise ? obs.then(toResult) : { obs };
}

function toResult(obs: Observation): { obs: Observation } {
  return { obs };
}

function firstOf(environments: ReadonlyMap<string, Environment>): string {
  const [first = ""] = environments.keys();
  return first;
}

/**
 * Renders the modes that every environment has (`json`, `text`) and those of the environment. An image is sent as a
 * data URL.
 */
function renderIn(episode: Episode, mode: string, caller: Caller): JsonValue | Promise<JsonValue> {
  const isImage = mode === "screenshot" || mode === "image";
  return andThen(episode.render(isImage || mode === "svg" ? "image" : mode, caller), (shown) => {
    if (shown === null && mode === "json") return episode.wireState;
    if (shown === null && mode === "text") return JSON.stringify(episode.wireState);
    if (isImage && typeof shown === "string" && shown.startsWith("<svg"))
      return `data:image/svg+xml;base64,${Buffer.from(shown).toString("base64")}`;
    return shown;
  });
}

/** A state that the agent made up can be used only if the environment shows its whole state. */
function toOwnState({ environment }: Episode, given: JsonObject): unknown {
  const isOpen = environment.observe === undefined && environment.snapshot === undefined;
  const { observationSpace } = environment;
  const readings = [given, isJsonObject(given) ? given.value : undefined];
  const known = isOpen ? readings.find((reading) => observationSpace.contains(reading)) : undefined;
  if (known !== undefined) return known;
  const why = isOpen
    ? "state: not in the observation space"
    : `"${environment.name}" can plan for its current state only`;
  throw env.error("runtime_error", why, { retryable: false });
}

function assertAtMost(count: number, limit: number, name: string): void {
  if (count > limit) throw badField("actions", `actions: at most ${limit}, found ${count}`, { limit: name });
}

/** The options are saved with the episode. */
function assertSmall(options: JsonObject): void {
  const { maxOptionsBytes } = envLimits;
  if (isLargerThan(options, maxOptionsBytes))
    throw badField("options", `options: at most ${maxOptionsBytes} bytes`, { limit: "maxOptionsBytes" });
}

function notTaken(step: number, taken: number): A2EError {
  return badField("step_num", `step_num: the episode has taken ${taken} steps, found ${step}`);
}

function badField(path: string, message: string, detail: JsonObject = {}): A2EError {
  return new A2EError("schema_violation", message, {
    capability_name: env.name,
    detail: { ...detail, issues: [{ path, message }] },
  });
}
