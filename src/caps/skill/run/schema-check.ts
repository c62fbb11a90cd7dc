// Checks values against schemas that a skill brought along. Whoever wrote it may mean harm: a pattern can take longer than
// the universe has, and so can a few other keywords. Schemas of plain keywords are checked here, in time that grows with
// the value alone; any other one in a thread that can be ended.
import { type Checked, createSchemaCheck } from "../../../host/validation/json-schema.ts";
import { siblingModule } from "../../../host/workers/thread-entry.ts";
import { WorkerPool } from "../../../host/workers/worker-pool.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../protocol/json.ts";
import { skillLimits } from "../limits.ts";
import { cannotRun } from "../problems.ts";
import type { SchemaCheckArguments } from "./schema-check-worker.ts";

export class SchemaChecks {
  /** Compiled once per skill as it was read. */
  readonly #checks = new WeakMap<JsonObject, (value: JsonObject) => Checked>();
  readonly #pool = new WorkerPool({ size: 1 });

  /** Rejects with `skill_error` where the schema is broken or takes too long. */
  async check(name: string, schema: JsonObject, value: JsonValue, signal: AbortSignal): Promise<Checked> {
    try {
      // The value of an output need not be an object, and the check takes it as it is.
      if (isPlain(schema)) return this.#compiled(schema)(value as JsonObject);
      const args: SchemaCheckArguments = { schema, value };
      const job = { module: siblingModule("schema-check-worker", import.meta.url), exportName: "checkSchema", args };
      return (await this.#pool.run(job, { timeoutMs: skillLimits.schemaCheckMs, signal })) as Checked;
    } catch (error) {
      const isOurs = error instanceof A2EError && (error.code === "cancelled" || error.code === "rate_limited");
      if (isOurs || signal.aborted) throw error;
      throw cannotRun(name, `its schema cannot be checked: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
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
