// Validates values against the schemas of skills. A malicious schema can take practically for ever, for example with a
// pattern. Schemas with plain keywords only are checked here, in time that grows with the value; all others run in a
// worker thread that can be terminated.

import { siblingModule } from "../../../machinery/threads/thread-entry.ts";
import { WorkerPool } from "../../../machinery/threads/worker-pool.ts";
import { type Checked, createSchemaCheck } from "../../../machinery/validation/json-schema.ts";
import type { CallContext } from "../../../plugin/call-context.ts";
import { A2EError, messageOf } from "../../../protocol/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { skillLimits } from "../limits.ts";
import { cannotRun, checkTookLong } from "../problems.ts";
import type { SchemaCheckArguments } from "./schema-check-worker.ts";

/** The call that a check is for. The checks of one session do not hold up those of another. */
type Caller = Pick<CallContext, "signal"> & { readonly session: Pick<CallContext["session"], "id"> };

export class SchemaChecks {
  /** Compiled once per schema object, and so once per read of a skill. */
  readonly #checks = new WeakMap<JsonObject, (value: JsonObject) => Checked>();
  readonly #pool = new WorkerPool({ size: 1 });
  readonly #checkMs: number;

  constructor({ checkMs = skillLimits.schemaCheckMs }: { checkMs?: number } = {}) {
    this.#checkMs = checkMs;
  }

  /** Rejects with `skill_error` if the schema is invalid or takes too long. */
  async check(name: string, schema: JsonObject, value: JsonValue, { signal, session }: Caller): Promise<Checked> {
    try {
      // An output need not be an object; the check accepts any value.
      if (isPlain(schema)) return this.#compiled(schema)(value as JsonObject);
      return await this.#checkInThread({ schema, value }, signal, session.id);
    } catch (error) {
      const isOurs = error instanceof A2EError && (error.code === "cancelled" || error.code === "rate_limited");
      if (isOurs || signal.aborted) throw error;
      if (error instanceof A2EError && error.code === "timeout") throw checkTookLong(name, this.#checkMs);
      throw cannotRun(name, `its schema cannot be checked: ${messageOf(error)}`);
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /**
   * The time counts from the start of the check: before it, the thread starts and loads its code, which is slow on a
   * busy machine.
   */
  async #checkInThread(args: SchemaCheckArguments, signal: AbortSignal, owner: string): Promise<Checked> {
    const limit = new AbortController();
    const end = () => limit.abort(new A2EError("timeout", "the schema takes too long"));
    let timer: NodeJS.Timeout | undefined;
    const onMessage = () => {
      timer = setTimeout(end, this.#checkMs);
    };
    const job = { module: siblingModule("schema-check-worker", import.meta.url), exportName: "checkSchema", args };
    try {
      const options = { signal: AbortSignal.any([signal, limit.signal]), owner, onMessage };
      return (await this.#pool.run(job, options)) as Checked;
    } finally {
      clearTimeout(timer);
    }
  }

  #compiled(schema: JsonObject): (value: JsonObject) => Checked {
    const known = this.#checks.get(schema);
    if (known !== undefined) return known;
    const check = createSchemaCheck(schema);
    this.#checks.set(schema, check);
    return check;
  }
}

const plainKeywords = new Set(
  "type title description properties required additionalProperties items enum const default examples minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems minProperties maxProperties format".split(
    " ",
  ),
);

function isPlain(schema: JsonValue): boolean {
  if (typeof schema === "boolean") return true;
  if (!isJsonObject(schema)) return false;
  return Object.entries(schema).every(([keyword, value]) => {
    if (!plainKeywords.has(keyword)) return false;
    if (keyword === "properties") return isJsonObject(value) && Object.values(value).every(isPlain);
    return keyword === "items" || keyword === "additionalProperties" ? isPlain(value) : true;
  });
}
