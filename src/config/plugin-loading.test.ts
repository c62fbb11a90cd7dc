// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the config's own syntax
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { parsePluginOptions, pluginEntryFields } from "../machinery/options/plugin-options.ts";
import { silentLogger } from "../plugin/logger.ts";
import { type Plugin, type PluginFactory, plugin } from "../plugin/plugin.ts";
import { capability } from "../protocol/table/capability.ts";
import { toHostConfig } from "./parsing.ts";
import { type ConfiguredPlugin, loadPlugins, PluginLoadError } from "./plugin-loading.ts";

const part = { session: () => ({ handlers: {} }) };
const toolsPlugin: Plugin = plugin(capability("tools", { doc: "", calls: {} }), {
  ...part,
  priority: 7,
  exclusive: true,
});
const skillPlugin: Plugin = plugin(capability("skill", { doc: "", calls: {} }), part);

let folder: string;

const files: Record<string, string> = {
  "counter.mjs": `
    const made = (options) => ({ capability: { name: "counter", calls: {} }, session() {}, options });
    export const asObject = made("none");
    export const asFactory = async (options) => made(options);
    export function asFunction(options) { return made(options); }
    export class AsClass {
      capability = { name: "counter", calls: {} };
      constructor(options) { this.options = options; }
      session() {}
    }
    export default made("default");
    export const nothing = null;
    export const half = { capability: { name: "counter", calls: {} } };
    export const empty = {};
    export const failing = () => { throw new Error("the database is down"); };
  `,
  "broken.mjs": "export const = 1;",
  "needy.mjs": 'import "not-installed-anywhere";',
  "throwing.mjs": 'throw new Error("at load");',
  "node_modules/esm-only/package.json":
    '{"name":"esm-only","type":"module","exports":{".":{"import":"./main.js"},"./sub":"./sub.js"}}',
  "node_modules/esm-only/main.js": 'export const Plug = { capability: { name: "counter", calls: {} }, session() {} };',
  "node_modules/esm-only/sub.js": 'export const Sub = { capability: { name: "counter", calls: {} }, session() {} };',
  "node_modules/@scope/classic/package.json": '{"name":"@scope/classic","main":"lib/entry.js"}',
  "node_modules/@scope/classic/lib/entry.js":
    'exports.Plug = { capability: { name: "counter", calls: {} }, session() {} };',
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "a2e plugins-"));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const builtin: Record<string, () => Promise<PluginFactory>> = {
  tools: async () => () => toolsPlugin,
  skill: async () => async () => skillPlugin,
};

function load(plugins: unknown[], log = silentLogger): Promise<ConfiguredPlugin[]> {
  return loadPlugins(toHostConfig({ plugins }, { env: {}, baseDir: folder }), { builtin, log });
}

async function loadCounter(cls: string): Promise<ConfiguredPlugin> {
  const [loaded] = await load([{ name: "c", type: "counter", cls, metadata: { step: 2 } }]);
  if (loaded === undefined) throw new Error("nothing was loaded");
  return loaded;
}

async function failureOf(plugins: unknown[]): Promise<PluginLoadError> {
  const error = await load(plugins).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(PluginLoadError);
  return error as PluginLoadError;
}

describe("a built-in plugin", () => {
  test("needs no more than its type, in any spelling", async () => {
    const loaded = await load([{ type: "skills" }, { type: "tool" }]);
    expect(loaded.map(({ name, plugin }) => [name, plugin])).toEqual([
      ["tools", toolsPlugin],
      ["skill", skillPlugin],
    ]);
  });

  test("replaces the SDK's class, and the replacement is logged", async () => {
    const warnings: unknown[] = [];
    const cls = "a2e.caps.tools.plugin.ToolPlugin";
    const log = { ...silentLogger, warn: (_: string, fields: unknown) => void warnings.push(fields) };
    const [loaded] = await load([{ type: "tools", cls }], log);
    expect(loaded?.plugin).toBe(toolsPlugin);
    expect(warnings).toEqual([{ plugin: "tools", cls }]);
  });

  test("that does not exist is reported with the existing types", async () => {
    const { message } = await failureOf([{ type: "tolos" }]);
    expect(message).toContain('plugin "tolos": there is no built-in plugin of type "tolos", only of tools, skill');
    expect(message).toContain('did you mean "tools"?');
    await failureOf([{ type: "constructor" }]);
  });
});

describe("priority and exclusiveness", () => {
  test("come from the plugin unless the config sets them", async () => {
    const [own] = await load([{ type: "tools" }]);
    expect(own).toMatchObject({ priority: 7, exclusive: true, isolation: "none" });
    const [set] = await load([{ type: "tools", metadata: { priority: 0, exclusive: false, isolation: "worker" } }]);
    expect(set).toMatchObject({ priority: 0, exclusive: false, isolation: "worker" });
  });

  test("order the plugins, and equals stay as listed", async () => {
    const loaded = await load([
      { name: "low", type: "skill", metadata: { priority: -1 } },
      { name: "first", type: "skill" },
      { name: "second", type: "skill" },
      { name: "high", type: "tools" },
    ]);
    expect(loaded.map(({ name }) => name)).toEqual(["high", "first", "second", "low"]);
  });
});

describe("cls", () => {
  test.each(["asFactory", "asFunction", "AsClass"])(
    "may name a function or class that creates a plugin from its options: %s",
    async (name) => {
      const loaded = await loadCounter(`./counter.mjs#${name}`);
      expect(loaded.options).toEqual({ step: 2, base_dir: folder });
      expect(loaded.plugin).toMatchObject({ options: loaded.options });
    },
  );

  test("may be a relative or absolute path or a file URL", async () => {
    const path = join(folder, "counter.mjs");
    for (const module of ["./counter.mjs", "counter.mjs", path, pathToFileURL(path).href]) {
      expect((await loadCounter(`${module}#asObject`)).plugin.capability.name).toBe("counter");
    }
    expect((await loadCounter("./counter.mjs#default")).plugin).toMatchObject({ options: "default" });
  });

  test("may be a package installed beside the config", async () => {
    for (const cls of [
      "esm-only#Plug",
      "esm-only.Plug",
      "esm-only/sub#Sub",
      "@scope/classic#Plug",
      "@scope/classic.Plug",
    ]) {
      expect((await loadCounter(cls)).plugin.capability.name).toBe("counter");
    }
  });

  test.each([
    ["./missing.mjs#x", 'there is no module "./missing.mjs"'],
    ["not-installed-anywhere#x", 'there is no module "not-installed-anywhere"'],
    ["my.python.Plugin", 'there is no module "my.python"'],
    ["./needy.mjs#x", "./needy.mjs could not be loaded: Cannot find package 'not-installed-anywhere'"],
    ["./broken.mjs#x", "./broken.mjs could not be loaded: "],
    ["./throwing.mjs#x", "./throwing.mjs could not be loaded: at load"],
    ["./counter.mjs#asObjcet", 'exports no "asObjcet", only '],
    ["./counter.mjs#asObjcet", 'did you mean "asObject"?'],
    ["./counter.mjs#toString", 'exports no "toString"'],
    ["./counter.mjs", 'as in "./counter.mjs#myPlugin"'],
    ["./counter.mjs#", 'as in "./counter.mjs#myPlugin"'],
    ["Plugin", 'as in "./my-plugin.js#myPlugin"'],
    ["./counter.mjs#nothing", "is not a plugin but null"],
    ["./counter.mjs#half", "it lacks session (a function)"],
    ["./counter.mjs#empty", "it lacks capability (a table) and session (a function)"],
    ["./counter.mjs#failing", "failed: the database is down"],
  ])("%s stops the start: %s", async (cls, message) => {
    const error = await failureOf([{ name: "mine", type: "counter", cls }]);
    expect(error.message).toContain(`plugin "mine" (${cls}): `);
    expect(error.message).toContain(message);
  });

  test("must serve the type that the config names", async () => {
    const { message } = await failureOf([{ type: "tools", cls: "./counter.mjs#asObject" }]);
    expect(message).toContain('serves the capability "counter", but the config says type "tools"');
  });
});

test("a disabled plugin is not even looked for", async () => {
  expect(await load([{ type: "tools", cls: "./throwing.mjs#x", metadata: { enabled: false } }])).toEqual([]);
});

test("all plugins that do not load are named at once, as listed, with their cause", async () => {
  const error = await failureOf([
    { name: "one", type: "counter", cls: "./throwing.mjs#x" },
    { name: "good", type: "tools" },
    { name: "two", type: "nothing" },
  ]);
  expect(error.failures.map(({ name }) => name)).toEqual(["one", "two"]);
  expect(error.message.split("\n")).toHaveLength(2);
  expect(error.cause).toMatchObject({ message: "at load" });
});

test("a problem with its options is reported with the path in the config", async () => {
  const schema = z.strictObject({
    ...pluginEntryFields,
    size: z.number().optional(),
    urls: z.array(z.url()).optional(),
  });
  const factory: PluginFactory = (options) => {
    parsePluginOptions(schema, options, "options of the tools plugin");
    return toolsPlugin;
  };
  const config = toHostConfig(
    {
      plugins: [
        { type: "memory", metadata: { enabled: false } },
        { type: "tools", metadata: { siz: 1, size: "big", urls: ["http://a", "b"] } },
      ],
    },
    { env: {} },
  );
  const loading = loadPlugins(config, { builtin: { tools: async () => factory }, log: silentLogger });
  await expect(loading).rejects.toThrow(
    [
      'plugin "tools": 3 problems with its options:',
      '  plugins[1].metadata.size: expected a number, found "big"',
      '  plugins[1].metadata.urls[1]: Invalid URL, found "b"',
      '  plugins[1].metadata.siz: is not an option here; did you mean "size"?',
    ].join("\n"),
  );
});

test("values of environment variables are not shown in a plugin's error; their names are", async () => {
  const env = { LINK: "postgres://me:hunter2@db", QUOTED: 'a "b" hunter2', ON: "true", SHORT: "x" };
  const entry = { link: "${LINK}", list: ["${QUOTED}"], on: "${ON}", short: "${SHORT}" };
  const config = toHostConfig({ plugins: [{ type: "tools", metadata: entry }] }, { env });
  const factory: PluginFactory = ({ link, list }) => {
    throw new Error(`expected true, found ${link} and ${JSON.stringify(list)}`);
  };
  const loading = loadPlugins(config, { builtin: { tools: async () => factory }, log: silentLogger });
  await expect(loading).rejects.toThrow('plugin "tools": failed: expected true, found ${LINK} and ["${QUOTED}"]');
});

test("values of environment variables are not shown in a stack or a cause, however deep", async () => {
  const env = { LINK: "postgres://me:hunter2@db" };
  const config = toHostConfig({ plugins: [{ type: "tools", metadata: { link: "${LINK}" } }] }, { env });
  const factory: PluginFactory = ({ link }) => {
    const first = new Error(`no route to ${link}`, { cause: `tried ${link}` });
    const all = new AggregateError([first, Object.freeze(new Error("frozen"))], `all of ${link} failed`);
    first.cause = new Error(`tried ${link}`, { cause: all });
    throw new Error(`cannot reach ${link}`, { cause: all });
  };
  const loading = loadPlugins(config, { builtin: { tools: async () => factory }, log: silentLogger });
  const error = await loading.catch((thrown: Error) => thrown);
  const shown = inspect(error, { depth: 10 });
  expect(shown).toContain("no route to ${LINK}");
  expect(shown).not.toContain("hunter2");
});

test("a plugin that takes long to load is named in the log while it loads", async () => {
  vi.useFakeTimers();
  try {
    const warnings: unknown[] = [];
    const log = { ...silentLogger, warn: (message: string, fields: unknown) => void warnings.push([message, fields]) };
    let come = (_: PluginFactory) => {};
    const factory = new Promise<PluginFactory>((resolve) => {
      come = resolve;
    });
    const config = toHostConfig({ plugins: [{ type: "tools" }] }, { env: {} });
    const loading = loadPlugins(config, { builtin: { tools: () => factory }, log });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(warnings).toEqual([["a plugin takes long to load", { plugin: "tools" }]]);
    come(() => toolsPlugin);
    await loading;
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
