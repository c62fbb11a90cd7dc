// A host with the toolkits and tools plugins, and a toolkit that returns its config, for the tests of this folder.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import type { HostOptions } from "../../host/host.ts";
import { A2EError } from "../../protocol/errors.ts";
import type { JsonObject, JsonValue } from "../../protocol/json.ts";
import type { Recordings } from "../../recording/recorder.ts";
import { createSqliteDatabase } from "../../stores/sqlite/sqlite-database.ts";
import { startHost, type TestClientOptions } from "../../testing/start-host.ts";
import { toolsPlugin } from "../tools/plugin.ts";
import { defineToolkit, type Toolkit } from "./define-toolkit.ts";
import { type ToolkitsPluginOptions, toolkitsPlugin } from "./plugin.ts";

export interface StartToolkitsOptions extends ToolkitsPluginOptions {
  host?: Partial<HostOptions> & { recordings?: Recordings };
  client?: TestClientOptions;
  /** The path of the database; by default it is in memory. */
  path?: string;
}

export async function startToolkits({ host: hostOptions = {}, client, path, ...options }: StartToolkitsOptions = {}) {
  const plugins = [toolkitsPlugin(options), toolsPlugin({ builtin: false })] as const;
  const folder = await mkdtemp(join(tmpdir(), "a2e-toolkits-"));
  const workspaceDir = join(folder, "workspace");
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  const database = await createSqliteDatabase({ path: path ?? ":memory:", durability: "process" });
  const host = await startHost({
    plugins,
    database,
    dataDir: join(folder, "data"),
    workspaceDir,
    ...(client === undefined ? {} : { client }),
    ...hostOptions,
  }).catch(async (error: unknown) => {
    await database.close();
    await removeFolder();
    throw error;
  });
  const close = async () => {
    await host.close();
    await removeFolder();
  };
  return { ...host, folder, workspaceDir, close, [Symbol.asyncDispose]: close, ...actionsOf(host.client) };
}

type Client = Awaited<
  ReturnType<typeof startHost<[ReturnType<typeof toolkitsPlugin>, ReturnType<typeof toolsPlugin>]>>
>["client"];

/** Shortcuts for common calls. */
export function actionsOf(client: Client) {
  return {
    kits: client.toolkits,
    configure: (toolkit_name: string, config: JsonObject = {}) => client.toolkits.configure({ toolkit_name, config }),
    async toolNames(): Promise<string[]> {
      return (await client.tools.list()).tools.map(({ name }) => name);
    },
    async call(tool_name: string, args: JsonObject = {}): Promise<JsonValue> {
      return (await client.tools.call({ tool_name, arguments: args })).data.data;
    },
    async stateOf(name: string): Promise<string | undefined> {
      const { toolkits } = await client.toolkits.list();
      return toolkits.find((toolkit) => (toolkit.alias || toolkit.name) === name)?.state;
    },
  };
}

/** Counts its starts and stops. */
export function createProbe(spec: { name?: string; scope?: "session" | "host"; failWith?: string } = {}) {
  const seen = { started: 0, stopped: 0 };
  let failWith = spec.failWith;
  const toolkit: Toolkit = defineToolkit({
    name: spec.name ?? "probe",
    description: "Shows what it was given.",
    category: "test",
    tags: ["probe", "test"],
    scope: spec.scope ?? "session",
    config: z.object({
      greeting: z.string().min(2).default("hello"),
      times: z.int().min(1).default(1),
      token: z.string().min(8).optional().meta({ format: "password" }),
      keys: z.record(z.string(), z.string()).default({}).meta({ "x-secret": true }),
      nested: z.object({ pin: z.int().min(1000).meta({ writeOnly: true }), note: z.string() }).optional(),
    }),
    start(config) {
      if (failWith !== undefined) throw new Error(failWith.replace("$TOKEN", config.token ?? ""));
      seen.started += 1;
      return { isOpen: true };
    },
    stop(resource) {
      seen.stopped += 1;
      resource.isOpen = false;
    },
    tools: {
      greet: {
        description: "Greets.",
        input: z.object({ name: z.string() }),
        run: ({ name }, { config, resource }) => ({
          text: `${config.greeting} ${name}`.repeat(config.times),
          is_open: resource.isOpen,
        }),
      },
      leak: {
        description: "Tells its secrets in every way it can.",
        input: { type: "object", properties: { how: { type: "string" } } },
        streaming: true,
        run({ how }, { config, log }, context) {
          const token = config.token ?? "";
          if (how === "throw") throw new Error(`bad token ${token}`, { cause: new Error(token) });
          if (how === "code") throw new A2EError("forbidden", token, { detail: { token } });
          log.warn(`token ${token}`, { token, error: new Error(token) });
          context.log.info(token, { keys: config.keys });
          context.emit("log", { token });
          return {
            token,
            [token]: 1,
            json: JSON.stringify({ token }),
            keys: config.keys,
            pin: config.nested?.pin ?? 0,
          };
        },
      },
      wait: {
        description: "Waits until it is cancelled, or its toolkit told to go on.",
        input: z.object({}),
        async run(_args, { resource }, { signal }) {
          await new Promise<void>((resolve) => {
            gate.open = resolve;
            signal.addEventListener("abort", () => resolve());
          });
          return { is_open: resource.isOpen };
        },
      },
    },
  });
  const gate = { open: () => {} };
  return { toolkit, seen, gate, failWith: (reason: string | undefined) => (failWith = reason) };
}
