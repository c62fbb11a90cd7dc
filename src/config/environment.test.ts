import { inspect } from "node:util";
import { expect, test } from "vitest";
import { concealInError } from "./environment.ts";

const name = "TOKEN";
const shown = `got \${${name}}`;
const variables = { TOKEN: "hunter2-and-more" };

test("no part of an error shows the value of a variable", () => {
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
  // The object itself is still in use and must keep its value.
  expect(options).toEqual({ token: variables.TOKEN });
});
