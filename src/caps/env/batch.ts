// Many steps in one request, and steps that never happened: both answer item by item.
import { isThenable } from "../../host/thenable.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonValue } from "../../protocol/json.ts";
import { type Awaitable, andThen } from "./awaitable.ts";
import type { Episode } from "./episode.ts";
import type { Episodes } from "./episodes.ts";
import { type AutoresetMode, env, type Observation } from "./protocol.ts";

type ItemError = {
  code: string;
  message: string;
  detail: A2EError["detail"];
  retryable: boolean;
  capability_name: string;
};
type StepItem = { obs: Observation; error?: ItemError };
type Outcome = { action: JsonValue; obs?: Observation; error?: ItemError };

export interface BatchRequest {
  episode_ids: string[];
  actions: JsonValue[];
  episode_id: string;
}

/** Each episode goes its own way; steps of the same one are taken in their order. */
export function stepBatch(
  episodes: Episodes,
  { episode_ids, actions, episode_id }: BatchRequest,
  mode: AutoresetMode,
  now: () => number,
): Awaitable<{ results: StepItem[] }> {
  const isOne = episode_ids.length === 0;
  if (!isOne && episode_ids.length !== actions.length) throw unequal(episode_ids.length, actions.length);
  const items = actions.map((action, at) => {
    const id = isOne ? episode_id : (episode_ids[at] as string);
    return settle(
      () =>
        andThen(episodes.get(id), (episode) => andThen(episode.stepWith(action, mode), (obs): StepItem => ({ obs }))),
      (error) => ({ obs: stillAs(episodes, id, now), error }),
    );
  });
  return all(items, (results) => ({ results }));
}

export function tryActions(
  episode: Episode,
  actions: readonly JsonValue[],
  seed: number | null,
): Awaitable<{ episode_id: string; outcomes: Outcome[] }> {
  const outcomes = actions.map((action) =>
    settle(
      () => andThen(episode.fork(seed), (fork) => tryAction(fork, action)),
      (error): Outcome => ({ action, error }),
    ),
  );
  return all(outcomes, (settled) => ({ episode_id: episode.id, outcomes: settled }));
}

function tryAction(fork: Episode, action: JsonValue): Awaitable<Outcome> {
  const outcome = settle(
    () => andThen(fork.step(action), (obs): Outcome => ({ action, obs })),
    (error): Outcome => ({ action, error }),
  );
  return andThen(outcome, (settled) => {
    fork.close();
    return settled;
  });
}

/** The item that comes of it, whether it succeeds or fails, now or later. */
function settle<Item>(work: () => Awaitable<Item>, failed: (error: ItemError) => Item): Awaitable<Item> {
  try {
    const item = work();
    return isThenable(item) ? (item as Promise<Item>).catch((thrown: unknown) => failed(toItemError(thrown))) : item;
  } catch (thrown) {
    return failed(toItemError(thrown));
  }
}

function all<Item, Result>(items: Awaitable<Item>[], finish: (items: Item[]) => Result): Awaitable<Result> {
  return items.some((item) => isThenable(item)) ? Promise.all(items).then(finish) : finish(items as Item[]);
}

/** Anything undeclared fails the whole request: it is a defect, and the host's log has it. */
function toItemError(thrown: unknown): ItemError {
  if (!(thrown instanceof A2EError)) throw thrown;
  const { code, message, detail, retryable } = thrown;
  return { code, message, detail, retryable, capability_name: env.name };
}

/** An item that failed still has an observation, since some peers cannot read one without. */
function stillAs(episodes: Episodes, id: string, now: () => number): Observation {
  const empty = { episode_id: id, step_num: 0, state: {}, reward: 0, created_at: now() / 1000 };
  try {
    const episode = episodes.get(id);
    return isThenable(episode) ? empty : (episode as Episode).observe();
  } catch {
    return empty;
  }
}

function unequal(episodes: number, actions: number): A2EError {
  const message = `actions: expected one for each of ${episodes} episodes, found ${actions}`;
  return env.error("schema_violation", message, { detail: { issues: [{ path: "actions", message }] } });
}
