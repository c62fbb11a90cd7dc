// Records the results of the items of one map, so that another process does not run them again.
import { remainingBytes } from "../../../machinery/validation/json-size.ts";
import { A2EError } from "../../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";
import { chainLimits } from "../limits.ts";
import { outputTooLarge, toNodeError } from "./nodes/node-error.ts";
import type { OutputStore } from "./output-store.ts";
import type { Recorded } from "./run-port.ts";
import type { RunSettings } from "./run-settings.ts";

export interface RecalledItem {
  readonly output: JsonValue;
  /** Errors of the items of nested maps. */
  readonly errors?: JsonObject | undefined;
}

export class ItemJournal {
  readonly #settings: RunSettings;
  readonly #place: string;
  /** The budget of all items together: their outputs are held in memory until the last item has ended. */
  #bytesLeft: number = chainLimits.maxValueBytes;

  constructor(settings: RunSettings, place: string) {
    this.#settings = settings;
    this.#place = place;
  }

  /** Throws the error of an item that failed. */
  recall(index: number): RecalledItem | undefined {
    const { journal, outputs } = this.#settings;
    const recorded = journal.recall(this.#keyOf(index));
    if (recorded === undefined) return undefined;
    if ("error" in recorded) {
      const { code, message, detail } = recorded.error;
      throw new A2EError(code, message, { detail });
    }
    const output = readRecorded(recorded, outputs);
    if (output === undefined) return undefined;
    this.#spend(output);
    return { output, errors: recorded.errors };
  }

  note(index: number, output: JsonValue, errors: JsonObject | undefined): JsonValue {
    const { journal, maxInlineBytes, outputs, runId } = this.#settings;
    const isLarge = this.#spend(output) > maxInlineBytes;
    const recorded = isLarge ? { reference: outputs.put(runId, this.#idOf(index), output) } : { output };
    journal.note(this.#keyOf(index), errors === undefined ? recorded : { ...recorded, errors });
    return output;
  }

  noteFailure(index: number, error: unknown): void {
    const { journal } = this.#settings;
    const key = this.#keyOf(index);
    if (journal.recall(key) === undefined) journal.note(key, { error: toNodeError(error) });
  }

  #keyOf(index: number): string {
    return `${this.#place}.${index}`;
  }

  /**
   * The name that agents see: `map[2][0]`. A nested map exists once per item of its outer map, so its own id is not
   * unique.
   */
  #idOf(index: number): string {
    const [map, ...items] = this.#keyOf(index).split(".");
    const { id = "" } = this.#settings.plan.nodes[Number(map)] ?? {};
    return `${id}[${items.join("][")}]`;
  }

  /** Returns the size of the output. */
  #spend(output: JsonValue): number {
    const left = remainingBytes(output, this.#bytesLeft);
    if (left < 0) throw outputTooLarge(chainLimits.maxValueBytes);
    const bytes = this.#bytesLeft - left;
    this.#bytesLeft = left;
    return bytes;
  }
}

/** Undefined if a large output is no longer stored. */
export function readRecorded(recorded: Recorded, outputs: OutputStore): JsonValue | undefined {
  if ("error" in recorded) return undefined;
  if ("output" in recorded) return recorded.output;
  const text = outputs.get(recorded.reference.run_id, recorded.reference.node_id);
  return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
}
