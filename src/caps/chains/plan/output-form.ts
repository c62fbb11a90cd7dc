// Creates the object with the outputs of a run, with a field per node. Adding the fields one by one took a tenth of a
// run of fast tools.
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";

/** With more fields V8 uses a dictionary anyway, and there is nothing to gain. */
const maxWritten = 512;

/** Creates the object from the values, which are in the order of the ids. */
export type OutputForm = (values: readonly (JsonValue | undefined)[]) => JsonObject;

/** `__proto__` is not among the ids: node-spec.ts rejects it. */
export function createOutputForm(ids: readonly string[]): OutputForm {
  const fill: OutputForm = (values) => Object.fromEntries(ids.map((id, index) => [id, values[index] ?? null]));
  if (ids.length > maxWritten) return fill;
  let form: OutputForm | undefined;
  let isUsed = false;
  return (values) => {
    // Many chains run once; generating a function for them would cost more than it saves.
    if (isUsed) form ??= writeForm(ids) ?? fill;
    isUsed = true;
    return (form ?? fill)(values);
  };
}

/** Generates a function with one object literal. The ids come from an agent, so they appear only as quoted text. */
function writeForm(ids: readonly string[]): OutputForm | undefined {
  const fields = ids.map((id, index) => `${JSON.stringify(id)}: values[${index}] ?? null`);
  try {
    return new Function("values", `return { ${fields.join(", ")} };`) as OutputForm;
  } catch {
    // Generated code may be forbidden in this process.
    return undefined;
  }
}
