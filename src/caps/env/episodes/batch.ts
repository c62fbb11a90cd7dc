// Requests with many items, `env/batch_step` and `env/what_if`: each item has its own result or error.
import { type Awaitable, andThen, isThenable } from "../../../protocol/awaitable.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonValue } from "../../../protocol/json.ts";
import { envLimits } from "../limits.ts";
import { type AutoresetMode, env, type Observation } from "../protocol.ts";
import type { Caller } from "./caller-turns.ts";
import type { Episode } from "./episode.ts";
import type { Episodes } from "./episodes.ts";
import { KeptTogether } from "./kept-together.ts";

type ItemError = {
  code: string;
  message: string;
  detail: A2EError["detail"];
  retryable: boolean;
  capability_name: string;
};
type StepItem = { obs: Observation; error?: ItemError };
type ItemOutcome = { action: JsonValue; obs?: Observation; error?: ItemError };

export interface BatchRequest {
  episode_ids: string[];
  actions: JsonValue[];
  episode_id: string;
}

/** Episodes are stepped independently of each other; steps of the same episode run in their order. */
export function stepBatch(
  episodes: Episodes,
  { episode_ids, actions, episode_id }: BatchRequest,
  mode: AutoresetMode,
  now: () => number,
  caller: Caller,
): Awaitable<{ results: StepItem[] }> {
  const isOne = episode_ids.length === 0;
  if (!isOne && episode_ids.length !== actions.length) throw unequal(episode_ids.length, actions.length);
  return keepTogether(caller, (together) => {
    const results = workOn(actions, (action, at) => {
      const id = isOne ? episode_id : (episode_ids[at] as string);
      return settle(
        () =>
          andThen(episodes.get(id), (episode) =>
            andThen(episode.stepWith(action, mode, together), (obs): StepItem => ({ obs })),
          ),
        (error) => ({ obs: stillAs(episodes, id, now), error }),
      );
    });
    return andThen(results, (items) => ({ results: items }));
  });
}

/**
 * Runs `work` with a caller that delays commits until the answer. If the request fails, the commits still run: the
 * steps were taken.
 */
export function keepTogether<Result>(caller: Caller, work: (together: Caller) => Awaitable<Result>): Awaitable<Result> {
  const kept = new KeptTogether();
  let isLater = false;
  try {
    const result = work(new BatchCaller(caller, kept));
    isLater = isThenable(result);
    return isLater ? Promise.resolve(result).finally(() => kept.end()) : result;
  } finally {
    if (!isLater) kept.end();
  }
}

/** Forwards `signal` instead of copying it: the call creates its signal on first use. */
class BatchCaller implements Caller {
  readonly kept: KeptTogether;
  readonly #caller: Caller;

  constructor(caller: Caller, kept: KeptTogether) {
    this.#caller = caller;
    this.kept = kept;
  }
  get isEnded(): boolean {
    return this.#caller.isEnded;
  }
  get signal(): AbortSignal {
    return this.#caller.signal;
  }
}

export function tryActions(
  episode: Episode,
  actions: readonly JsonValue[],
  seed: number | null,
  caller: Caller,
): Awaitable<{ episode_id: string; outcomes: ItemOutcome[] }> {
  const outcomes = workOn(actions, (action) =>
    settle(
      () => andThen(episode.fork(seed, caller), (fork) => tryAction(fork, action, caller)),
      (error): ItemOutcome => ({ action, error }),
    ),
  );
  return andThen(outcomes, (settled) => ({ episode_id: episode.id, outcomes: settled }));
}

function tryAction(fork: Episode, action: JsonValue, caller: Caller): Awaitable<ItemOutcome> {
  const outcome = settle(
    () => andThen(fork.step(action, caller), (obs): ItemOutcome => ({ action, obs })),
    (error): ItemOutcome => ({ action, error }),
  );
  return andThen(outcome, (settled) => {
    fork.close();
    return settled;
  });
}

/** Turns a result or an error into an item, synchronously if possible. */
function settle<Item>(work: () => Awaitable<Item>, failed: (error: ItemError) => Item): Awaitable<Item> {
  try {
    const item = work();
    return isThenable(item) ? (item as Promise<Item>).catch((thrown: unknown) => failed(toItemError(thrown))) : item;
  } catch (thrown) {
    return failed(toItemError(thrown));
  }
}

/**
 * Works on all items in one go if each is synchronous. Otherwise at most `maxConcurrentItems` run at the same time, so
 * that other calls get their turn.
 */
function workOn<Given, Item>(
  given: readonly Given[],
  work: (given: Given, at: number) => Awaitable<Item>,
): Awaitable<Item[]> {
  const items: Awaitable<Item>[] = [];
  for (const one of given) {
    const item = work(one, items.length);
    items.push(item);
    if (isThenable(item)) return workOnLater(items, given, work);
  }
  return items as Item[];
}

async function workOnLater<Given, Item>(
  items: Awaitable<Item>[],
  given: readonly Given[],
  work: (given: Given, at: number) => Awaitable<Item>,
): Promise<Item[]> {
  const pending = new Set<Promise<unknown>>();
  const follow = (item: Awaitable<Item>) => {
    const ended: Promise<unknown> = Promise.resolve(item).then(
      () => pending.delete(ended),
      () => pending.delete(ended),
    );
    pending.add(ended);
  };
  follow(items.at(-1) as Awaitable<Item>);
  for (const one of given.slice(items.length)) {
    if (pending.size >= envLimits.maxConcurrentItems) await Promise.race(pending);
    const item = work(one, items.length);
    items.push(item);
    if (isThenable(item)) follow(item);
  }
  return Promise.all(items);
}

/** An error that is not an `A2EError` is a defect: it fails the whole request and is logged by the host. */
function toItemError(thrown: unknown): ItemError {
  if (!(thrown instanceof A2EError)) throw thrown;
  const { code, message, detail, retryable } = thrown;
  return { code, message, detail, retryable, capability_name: env.name };
}

/** An item that failed still has an observation, since some peers cannot parse an item without it. */
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
