// What became of the items of one map, so that another process does not run them again.
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
  /** Of the items of maps within it. */
  readonly errors?: JsonObject | undefined;
}

export class ItemJournal {
  readonly #settings: RunSettings;
  readonly #place: string;
  /** What all items together may take: they are held until the last one has ended. */
  #bytesLeft: number = chainLimits.maxValueBytes;

  constructor(settings: RunSettings, place: string) {
    this.#settings = settings;
    this.#place = place;
  }

  /** Throws what the item failed with. */
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

  /** As agents are told of items: `map[2][0]`. A map within maps is one for each of their items, and shares its own id. */
  #idOf(index: number): string {
    const [map, ...items] = this.#keyOf(index).split(".");
    const { id = "" } = this.#settings.plan.nodes[Number(map)] ?? {};
    return `${id}[${items.join("][")}]`;
  }

  /** Returns how much it was. */
  #spend(output: JsonValue): number {
    const left = remainingBytes(output, this.#bytesLeft);
    if (left < 0) throw outputTooLarge(chainLimits.maxValueBytes);
    const bytes = this.#bytesLeft - left;
    this.#bytesLeft = left;
    return bytes;
  }
}

/** Undefined where a large output is no longer kept. */
export function readRecorded(recorded: Recorded, outputs: OutputStore): JsonValue | undefined {
  if ("error" in recorded) return undefined;
  if ("output" in recorded) return recorded.output;
  const text = outputs.get(recorded.reference.run_id, recorded.reference.node_id);
  return text === undefined ? undefined : (JSON.parse(text) as JsonValue);
}
