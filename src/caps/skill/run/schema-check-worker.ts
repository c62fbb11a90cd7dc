// The half of schema checks that runs in a worker thread.

import type { WorkerContext } from "../../../machinery/threads/worker-entry.ts";
import { type Checked, createSchemaCheck } from "../../../machinery/validation/json-schema.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";

export interface SchemaCheckArguments {
  schema: JsonObject;
  value: JsonValue;
}

/** Sends one message when the check itself begins, so that the host starts its timer. */
export function checkSchema({ schema, value }: SchemaCheckArguments, { send }: WorkerContext): Checked {
  // Loads the validator first: its loading time must not count as time of the check.
  createSchemaCheck({})({});
  send("began");
  return createSchemaCheck(schema)(value as JsonObject);
}
