// Runs a node for every item of a list, up to `maxParallel` at once; outputs are in the order of the items.
import { A2EError } from "../../../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../../../protocol/json.ts";
import type { Work } from "../../expressions/work.ts";
import type { Awaitable } from "../run-port.ts";
import { toNodeError } from "./node-error.ts";

interface MapSettings {
  readonly nodeId: string;
  readonly items: readonly JsonValue[];
  readonly maxParallel: number;
  /** Whether items may fail: their outputs are null then, and the other items continue. */
  readonly isTolerant: boolean;
  readonly signal: AbortSignal | undefined;
  readonly work: Work;
  /** Runs one item; an error or rejection is the item's error. */
  run(item: JsonValue, index: number): Awaitable<JsonValue>;
  /** Whether the item ended because the whole run did, and did not fail itself. */
  isCut(): boolean;
  onFailed(index: number, error: unknown): void;
}

export interface MapOutcome {
  readonly outputs: JsonValue[];
  /** By index: `{code, message}`. */
  readonly errors: JsonObject;
}

/** If items must not fail, rejects once the running items have ended; `detail.errors` has all errors. */
export function runMap(settings: MapSettings): Awaitable<MapOutcome> {
  const { items, maxParallel, isTolerant, signal, work, run } = settings;
  const outputs: JsonValue[] = new Array(items.length).fill(null);
  const errors: JsonObject = {};
  let next = 0;
  let running = 0;
  let hasFailed = false;
  let cut: { by: unknown } | undefined;

  const isOver = () =>
    next >= items.length || (hasFailed && !isTolerant) || signal?.aborted === true || cut !== undefined;
  const failed = (index: number, error: unknown) => {
    // An aborted item did not fail by itself.
    if (signal?.aborted === true) return;
    if (settings.isCut()) {
      cut = { by: error };
      return;
    }
    hasFailed = true;
    const { code, message } = toNodeError(error);
    errors[index] = { code, message };
    try {
      settings.onFailed(index, error);
    } catch (unexpected) {
      cut = { by: unexpected };
    }
  };
  let settle = () => {};
  const goOn = () => {
    running -= 1;
    if (pump()) settle();
  };
  /** Starts as many items as allowed; true when no item is left to wait for. */
  const pump = (): boolean => {
    while (running < maxParallel && !isOver()) {
      if (work.isTurnOver) {
        running += 1;
        work.nextTurn().then(goOn);
        return false;
      }
      const index = next;
      next += 1;
      try {
        const output = run(items[index] as JsonValue, index);
        if (!(output instanceof Promise)) {
          outputs[index] = output;
          continue;
        }
        running += 1;
        output.then(
          (value) => {
            outputs[index] = value;
            goOn();
          },
          (error: unknown) => {
            failed(index, error);
            goOn();
          },
        );
      } catch (error) {
        failed(index, error);
      }
    }
    return running === 0;
  };
  const conclude = (): MapOutcome => {
    if (signal?.aborted === true) throw signal.reason;
    if (cut !== undefined) throw cut.by;
    if (hasFailed && !isTolerant) throw itemsFailed(settings.nodeId, errors);
    return { outputs, errors };
  };

  if (pump()) return conclude();
  return new Promise((resolve, reject) => {
    settle = () => {
      try {
        resolve(conclude());
      } catch (error) {
        reject(error);
      }
    };
  });
}

function itemsFailed(nodeId: string, errors: JsonObject): A2EError {
  const [[index, first] = ["", {}]] = Object.entries(errors);
  const message = String((first as JsonObject).message ?? "");
  const more = Object.keys(errors).length - 1;
  const others = more === 0 ? "" : ` (and ${more} more)`;
  return new A2EError("runtime_error", `item ${index} of "${nodeId}" failed: ${message}${others}`, {
    detail: { errors },
    retryable: false,
  });
}
