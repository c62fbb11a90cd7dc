// The outputs of a run in which every node has one: the one object that every run of a plan makes anew, with a field per
// node. Adding fields one by one took a tenth of a run of quick tools.
import type { JsonObject, JsonValue } from "../../../protocol/json.ts";

/** Beyond this the engine keeps fields as a table anyway, and there is nothing to gain. */
const maxWritten = 512;

/** Makes the object out of the values, which are in the order of the ids. */
export type OutputForm = (values: readonly (JsonValue | undefined)[]) => JsonObject;

/** None of the ids is `__proto__`: that is no id of a node. */
export function createOutputForm(ids: readonly string[]): OutputForm {
  const fill: OutputForm = (values) => Object.fromEntries(ids.map((id, index) => [id, values[index] ?? null]));
  if (ids.length > maxWritten) return fill;
  let form: OutputForm | undefined;
  let isUsed = false;
  return (values) => {
    // Many chains are run once, and writing a function for them would cost more than it saves.
    if (isUsed) form ??= writeForm(ids) ?? fill;
    isUsed = true;
    return (form ?? fill)(values);
  };
}

/** A function of one literal with all the fields. The ids are an agent's: they are in it as quoted text, and nowhere else. */
function writeForm(ids: readonly string[]): OutputForm | undefined {
  const fields = ids.map((id, index) => `${JSON.stringify(id)}: values[${index}] ?? null`);
  try {
    return new Function("values", `return { ${fields.join(", ")} };`) as OutputForm;
  } catch {
    // Where generated code is forbidden.
    return undefined;
  }
}
