// The calls of the env capability, for one session.
import type { Handlers, SessionContext, SessionPart } from "../../host/plugin.ts";
import { A2EError } from "../../protocol/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../protocol/json.ts";
import { toWireObject, wireSchema } from "./action.ts";
import { andThen } from "./awaitable.ts";
import { stepBatch, tryActions } from "./batch.ts";
import { DataPlane, type DataPlaneOptions } from "./data-plane.ts";
import type { EnvEvent, Environment } from "./define-env.ts";
import { Episode } from "./episode.ts";
import { Episodes } from "./episodes.ts";
import { Experiences } from "./experiences.ts";
import { envLimits } from "./limits.ts";
import type { ParsedEnvOptions } from "./options.ts";
import { unknownEnv } from "./problems.ts";
import { autoresetModes, env, type Observation, statePush } from "./protocol.ts";

export function createHandlers(
  context: SessionContext,
  options: ParsedEnvOptions,
  environments: ReadonlyMap<string, Environment>,
  dataOptions: DataPlaneOptions,
): SessionPart<typeof env> {
  const { state, clock } = context;
  const data = new DataPlane(dataOptions, context);
  const experiences = new Experiences(state, options.max_experiences);

  const find = (given: string): Environment => {
    const name = given !== "" ? given : options.default_env !== "" ? options.default_env : firstOf(environments);
    const environment = environments.get(name);
    if (environment === undefined) throw unknownEnv(name, [...environments.keys()]);
    return environment;
  };

  const push = (episode: Episode, { delta = {}, ...event }: EnvEvent) => {
    if (context.session.granted?.has("env_push") !== true) return;
    context.push(statePush, { episode_id: episode.id, step_id: episode.stepNum, ...event, delta, state_delta: delta });
  };

  const episodes = new Episodes(
    context,
    { maxEpisodes: options.max_episodes, whenFull: options.when_full, environment: find },
    {
      clock,
      maxSteps: options.max_steps,
      push,
      record: (experience) => experiences.add(experience),
      get dataDir() {
        return data.defaultFolder;
      },
    },
  );

  const handlers: Handlers<typeof env> = {
    reset({ env_name, seed, options: asked, record = options.record_experiences }) {
      const environment = find(env_name);
      const drawn = seed ?? Math.floor(context.random() * 0x1_0000_0000);
      const start = { seed: drawn, options: asked, isRecorded: record };
      return andThen(episodes.start(environment, start), (episode) => ({ obs: episode.observe() }));
    },

    step({ episode_id, action }) {
      const episode = episodes.get(episode_id);
      if (!(episode instanceof Episode)) return episode.then((opened) => stepOnce(opened, action));
      return stepOnce(episode, action);
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

    render: ({ episode_id, mode }) =>
      andThen(episodes.get(episode_id), (episode) =>
        andThen(renderIn(episode, mode ?? "screenshot"), (render) => ({ render })),
      ),

    plan: ({ episode_id, state: wanted }) =>
      andThen(episodes.get(episode_id ?? ""), (episode) =>
        andThen(episode.plan(wanted === null ? undefined : toOwnState(episode, wanted)), (actions) => ({
          suggested_actions: actions.map(toWireObject),
        })),
      ),

    batchStep(request) {
      assertAtMost(request.actions.length, options.max_batch, "max_batch");
      return stepBatch(episodes, request, request.autoreset ?? options.autoreset, () => clock.now());
    },

    whatIf({ episode_id, actions, seed }) {
      assertAtMost(actions.length, envLimits.maxWhatIf, "maxWhatIf");
      return andThen(episodes.get(episode_id), (episode) => tryActions(episode, actions, seed));
    },

    reward: ({ episode_id, step_num, reward }) =>
      andThen(episodes.get(episode_id), (episode) => {
        const step = step_num ?? episode.stepNum;
        experiences.addFeedback({ episode_id: episode.id, step_num: step, reward });
        return { ok: true, step_num: step };
      }),

    listExperiences({ episode_id, limit }) {
      const all = Array.from(experiences.all(episode_id), ([, experience]) => experience);
      return { episodes: limit === 0 ? [] : all.slice(-limit), total: all.length };
    },

    exportExperiences({ episode_id, cursor, limit }) {
      const lines: string[] = [];
      let next: number | null = null;
      for (const [number, experience] of experiences.all(episode_id, cursor)) {
        if (lines.length === limit) {
          next = number;
          break;
        }
        lines.push(`${JSON.stringify(experience)}\n`);
      }
      return { ndjson: lines.join(""), count: lines.length, next_cursor: next };
    },

    resetData: (request) => data.reset(request),
    addData: (request) => data.add(request),
    getData: (request) => data.get(request),
  };

  return {
    handlers,
    fork: (forked) => data.fork(forked),
    close: () => episodes.release(),
  };
}

function stepOnce(episode: Episode, action: JsonValue): { obs: Observation } | Promise<{ obs: Observation }> {
  const obs = episode.step(action);
  return obs instanceof Promise ? obs.then(toResult) : { obs };
}

function toResult(obs: Observation): { obs: Observation } {
  return { obs };
}

function firstOf(environments: ReadonlyMap<string, Environment>): string {
  const [first = ""] = environments.keys();
  return first;
}

/** What every environment can show, and what it shows itself. An image travels as a data URL. */
function renderIn(episode: Episode, mode: string): JsonValue | Promise<JsonValue> {
  const isImage = mode === "screenshot" || mode === "image";
  return andThen(episode.render(isImage || mode === "svg" ? "image" : mode), (shown) => {
    if (shown === null && mode === "json") return episode.wireState;
    if (shown === null && mode === "text") return JSON.stringify(episode.wireState);
    if (isImage && typeof shown === "string" && shown.startsWith("<svg"))
      return `data:image/svg+xml;base64,${Buffer.from(shown).toString("base64")}`;
    return shown;
  });
}

/** A state that an agent made up is the environment's own only where the environment shows all of its own. */
function toOwnState({ environment }: Episode, given: JsonObject): unknown {
  const isOpen = environment.observe === undefined && environment.snapshot === undefined;
  const { observationSpace } = environment;
  const readings = [given, isJsonObject(given) ? given.value : undefined];
  const known = isOpen ? readings.find((reading) => observationSpace.contains(reading)) : undefined;
  if (known !== undefined) return known;
  const why = isOpen
    ? "state: not in the observation space"
    : `"${environment.name}" plans for the state it is in only`;
  throw env.error("runtime_error", why, { retryable: false });
}

function assertAtMost(count: number, limit: number, name: string): void {
  if (count <= limit) return;
  const message = `actions: at most ${limit}, found ${count}`;
  throw new A2EError("schema_violation", message, {
    capability_name: env.name,
    detail: { limit: name, issues: [{ path: "actions", message }] },
  });
}
