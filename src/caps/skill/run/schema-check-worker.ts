// The part of schema checks that runs in a thread.
import { type Checked, createSchemaCheck } from "../../../host/validation/json-schema.ts";
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";

export interface SchemaCheckArguments {
  schema: JsonObject;
  value: JsonValue;
}

export function checkSchema({ schema, value }: SchemaCheckArguments): Checked {
  return createSchemaCheck(schema)(value as JsonObject);
}
