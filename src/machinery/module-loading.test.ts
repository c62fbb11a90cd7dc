import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findModules, loadItems, type ModuleContent } from "./module-loading.ts";

interface Fruit {
  readonly fruit: string;
}

const fruits: ModuleContent<Fruit> = {
  noun: "fruit",
  madeWith: "defineFruit",
  listName: "fruits",
  isItem: (value): value is Fruit => typeof value === "object" && value !== null && "fruit" in value,
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "a2e-modules-"));
  const files = {
    "basket/b.mjs": "export const b = { fruit: 'banana' };",
    "basket/a.mjs": "export const a = { fruit: 'apple' }; export const fruits = [a, { fruit: 'apricot' }];",
    "basket/a.test.mjs": "throw new Error('a test was loaded');",
    "basket/a.d.ts": "",
    "basket/notes.txt": "",
    "node_modules/grocer/package.json": '{ "name": "grocer", "type": "module", "exports": "./index.js" }',
    "node_modules/grocer/index.js": "export default { fruit: 'grape' };",
    "empty/notes.txt": "",
    "stone.mjs": "export const stone = 1;",
    "list.mjs": "export const fruits = [{ fruit: 'lime' }, 'stone'];",
    "broken.mjs": "throw new Error('at once');",
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function load(name: string): Promise<string[]> {
  const modules = await findModules([name], folder, fruits);
  return (await Promise.all(modules.map((module) => loadItems(module, fruits)))).flat().map(({ fruit }) => fruit);
}

test("modules are found in a folder, in a file, by a URL and in a package", async () => {
  expect(await load("basket")).toEqual(["apple", "apricot", "banana"]);
  expect(await load("./basket/b.mjs")).toEqual(["banana"]);
  expect(await load("basket/b.mjs")).toEqual(["banana"]);
  expect(await load(pathToFileURL(join(folder, "basket/b.mjs")).href)).toEqual(["banana"]);
  expect(await load("grocer")).toEqual(["grape"]);
});

test.each([
  ["stone.mjs", 'stone.mjs exports no fruit; export the result of defineFruit, or a list "fruits"'],
  ["list.mjs", "list.mjs: fruits[1] was not made with defineFruit"],
  ["broken.mjs", "broken.mjs failed to load: at once"],
  ["./missing.mjs", 'fruit module "./missing.mjs": there is no file or folder'],
  ["not-installed", "fruit module not-installed failed to load"],
  ["empty", "there is no module (.js, .mjs, .ts) in it"],
])("%s is refused with the reason", async (name, reason) => {
  await expect(load(name)).rejects.toThrow(reason);
});
