// A host with a plugin in a thread of its own, written anew by each test of this folder.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Worker } from "node:worker_threads";
import type { Plugin } from "../plugin/plugin.ts";
import { type IsolationOptions, isolatePlugin } from "./isolated-plugin.ts";
import { createPluginFrom } from "./plugin-export.ts";

const sourceUrl = (file: string) => JSON.stringify(pathToFileURL(join(import.meta.dirname, "..", file)).href);

/** The beginning of every test plugin: a capability with a single call, which does what its `step` names. */
const prelude = `
import { existsSync } from "node:fs";
import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { ask, call, capability, push } from ${sourceUrl("protocol/table/capability.ts")};
import { A2EError } from ${sourceUrl("protocol/errors.ts")};
import { jsonValue } from ${sourceUrl("protocol/json.ts")};
const text = z.object({ text: z.string() });
const step = { doc: "", about: { access: "write" }, request: z.object({ name: z.string() }), result: z.object({ value: jsonValue }), example: { request: { name: "" }, result: { value: 1 } } };
const run = call("work/run/req", "work/run/resp", step);
const question = ask("work/question/req", "work/question/resp", { doc: "", request: text, result: text, example: { request: { text: "" }, result: { text: "" } } });
const told = push("work/told", { doc: "", payload: text, example: { text: "" } });
const work = capability("work", { doc: "", errors: { too_much: { retryable: false, doc: "" } }, calls: { run }, asks: { question }, pushes: { told } });
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** A session that does its steps by their names. */
const part = (steps, rest = {}) => ({ ...rest, handlers: { run: async ({ name }, context) => ({ value: (await steps[name](context)) ?? null }) } });
`;

/** On a busy machine a thread may get no processor time for longer than the default; it must not count as blocked. */
const patient = { stuckAfterMs: 120_000 };

export interface IsolatedFolder {
  readonly path: string;
  /** A plugin that runs in a thread, created by the body of a function that returns the members beside its table. */
  load(body: string, isolation?: Partial<IsolationOptions>): Promise<Plugin>;
  remove(): Promise<void>;
}

export async function createIsolatedFolder(): Promise<IsolatedFolder> {
  const path = await mkdtemp(join(tmpdir(), "a2e-isolated-"));
  let count = 0;
  return {
    path,
    async load(body, isolation) {
      count += 1;
      const file = `work-${count}.mjs`;
      const create = `const make = () => {\n${body}\n};\nexport const createWork = () => ({ capability: work, ...make() });\n`;
      await writeFile(join(path, file), prelude + create);
      const source = { cls: `./${file}#createWork`, baseDir: path, type: "work", options: {} };
      const plugin = await createPluginFrom(source.cls, path, source.type, source.options);
      return isolatePlugin({ plugin, source, ...patient, ...isolation });
    },
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** The threads that are started from now on, and are not gone yet. */
export function watchThreads(): { readonly running: ReadonlySet<Worker>; stop(): void } {
  const running = new Set<Worker>();
  const add = (worker: Worker) => {
    running.add(worker);
    worker.once("exit", () => running.delete(worker));
  };
  process.on("worker", add);
  return { running, stop: () => void process.off("worker", add) };
}
