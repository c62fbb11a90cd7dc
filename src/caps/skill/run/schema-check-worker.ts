// The part of schema checks that runs in a thread.

import type { WorkerContext } from "../../../machinery/threads/worker-entry.ts";
import { type Checked, createSchemaCheck } from "../../../machinery/validation/json-schema.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";

export interface SchemaCheckArguments {
  schema: JsonObject;
  value: JsonValue;
}

/** Says one thing: that the check itself begins. */
export function checkSchema({ schema, value }: SchemaCheckArguments, { send }: WorkerContext): Checked {
  // Loads what checks, which is the host's time and not the schema's.
  createSchemaCheck({})({});
  send("began");
  return createSchemaCheck(schema)(value as JsonObject);
}
