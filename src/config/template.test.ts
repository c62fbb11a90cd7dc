import { resolve } from "node:path";
import { expect, test } from "vitest";
import { fieldsOf, pathsOf } from "./fields.ts";
import { parseConfigText } from "./file.ts";
import { toHostConfig } from "./parsing.ts";
import { hostConfig } from "./schema.ts";
import { renderConfigTemplate } from "./template.ts";

const options = { env: {}, baseDir: resolve("/srv") };

test("the template as it is means the defaults", async () => {
  expect(await parseConfigText(renderConfigTemplate(), options)).toEqual(toHostConfig({}, options));
});

test("the template with every setting switched on means the defaults too", async () => {
  const settings = renderConfigTemplate().replace(/^#(?! \S)/gm, "");
  expect(settings).toMatch(/^ {2}port: 8765$/m);
  expect(await parseConfigText(settings, options)).toEqual(toHostConfig({}, options));
});

test("every setting stands in it, with words about it", () => {
  const lines = renderConfigTemplate().split("\n");
  for (const path of pathsOf(hostConfig)) {
    const at = lines.findIndex((line) => line.replace(/^# *(- )?/, "").startsWith(`${path.split(".").at(-1)}:`));
    expect(at, path).toBeGreaterThan(0);
    expect(lines[at - 1], path).toMatch(/^# *(# )?\S/);
  }
  for (const [key, { description }] of fieldsOf(hostConfig)) expect(description, key).not.toBe("");
});
