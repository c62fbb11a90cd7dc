import { inspect } from "node:util";
import { expect, test } from "vitest";
import { concealInError } from "./environment.ts";

const name = "TOKEN";
const shown = `got \${${name}}`;
const variables = { TOKEN: "hunter2-and-more" };

test("nothing that an error holds shows what a variable held", () => {
  const text = `got ${variables.TOKEN}`;
  const options = { token: variables.TOKEN };
  const error = new AggregateError([new Error(text), text, { text }], text, { cause: { text, list: [text] } });
  Object.assign(error, { path: text, spawnargs: ["--token", variables.TOKEN], options, self: error });
  Object.defineProperty(error, "broken", {
    get() {
      throw new Error("not to be read");
    },
  });
  concealInError(error, variables);
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(variables.TOKEN);
  expect(error).toMatchObject({
    message: shown,
    errors: [{ message: shown }, shown, { text: shown }],
    cause: { text: shown, list: [shown] },
    path: shown,
    spawnargs: ["--token", `\${${name}}`],
  });
  // Whoever uses it still needs it.
  expect(options).toEqual({ token: variables.TOKEN });
});
