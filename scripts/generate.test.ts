// Proves that adding a capability means adding a folder: a folder is added to a copy of the tree, and `generate` is
// run.
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const generated = /\.generated\.ts$|^docs\/reference\/|^src\/conformance\/vectors\//;
const run = promisify(execFile);

const folder: Record<string, string> = {
  "src/caps/greeting/protocol.ts": `
    import { z } from "zod";
    import { call, capability } from "../../protocol/table/capability.ts";

    export const greeting = capability("greeting", {
      doc: "Greets people.",
      spellings: ["greetings"],
      errors: { nobody_there: { retryable: false, doc: "There is nobody to greet." } },
      calls: {
        hello: call("greeting/hello/req", "greeting/hello/resp", {
          about: { access: "read" },
          doc: "Greets somebody by name.",
          asTool: { effect: "reads" },
          aliases: { "greeting/hi": "greeting/hi/resp" },
          request: z.object({ name: z.string().default("world") }),
          result: z.object({ text: z.string() }),
          example: { request: { name: "Ada" }, result: { text: "Hello, Ada" } },
        }),
      },
    });
  `,
  "src/caps/greeting/plugin.ts": `
    import { plugin } from "../../plugin/plugin.ts";
    import { greeting } from "./protocol.ts";

    export function createPlugin() {
      return plugin(greeting, {
        session: () => ({ handlers: { hello: ({ name }) => ({ text: \`Hello, \${name}\` }) } }),
      });
    }
  `,
};

folder["src/caps/greeting/index.ts"] = `
  export { createPlugin as greetingPlugin } from "./plugin.ts";
  export { greeting } from "./protocol.ts";
`;

const program = `
  import { connectEmbedded } from "a2e";
  import { greeting, greetingPlugin } from "a2e/greeting";
  import { startConfiguredHost, toHostConfig } from "a2e/host";
  import { tables } from "./src/caps/tables.generated.ts";
  import { toCallTools } from "./src/federation/mcp/surface/capability-tools.ts";

  const config = toHostConfig({ plugins: [{ type: "greetings" }], data_dir: "./data", snapshot_store: { type: "memory" } });
  const host = await startConfiguredHost(config);
  const client = await connectEmbedded(host, { capabilities: ["greetings"] });
  const { text }: { text: string } = await client.greeting.hello({ name: "Grace" });
  await client.disconnect();
  await host.close();
  const tools = toCallTools(Object.values(tables)).map(({ tool }) => tool.name);
  console.log(text, tools.includes("greeting_hello"), greetingPlugin().capability === greeting);
`;

let copy: string;

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), "a2e-generate-"));
  for (const name of ["src", "scripts", "docs/reference", "package.json", "tsconfig.json"]) {
    await cp(join(root, name), join(copy, name), { recursive: true });
  }
  await symlink(join(root, "node_modules"), join(copy, "node_modules"));
  // Brings the tree up to date first.
  await generate();
});

afterAll(() => rm(copy, { recursive: true, force: true }));

function generate(...flags: string[]) {
  return run(process.execPath, ["--import", "tsx", "scripts/generate.ts", ...flags], { cwd: copy });
}

async function readTree(): Promise<Map<string, string>> {
  const tree = new Map<string, string>();
  for (const top of ["src", "docs"]) {
    for (const entry of await readdir(join(copy, top), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const path = join(entry.parentPath, entry.name);
      tree.set(relative(copy, path), await readFile(path, "utf8"));
    }
  }
  return tree;
}

test("adding a capability is adding one folder: its tables, plugin, subpath, spellings, MCP tools, schema, reference page and vectors follow", async () => {
  const before = await readTree();
  await mkdir(join(copy, "src/caps/greeting"));
  for (const [path, text] of Object.entries(folder)) await writeFile(join(copy, path), text);

  const stale = await generate("--check").catch((error: { code: number; stderr: string }) => error);
  await generate();
  const after = await readTree();

  expect(stale).toMatchObject({ code: 1, stderr: expect.stringContaining("src/caps/tables.generated.ts") });
  const changed = [...after.keys()].filter((path) => after.get(path) !== before.get(path));
  expect(changed.filter((path) => !generated.test(path)).sort()).toEqual(Object.keys(folder).sort());
  expect(after.get("src/caps/tables.generated.ts")).toContain("greeting");
  expect(after.get("src/caps/plugins.generated.ts")).toContain("./greeting/plugin.ts");
  expect(JSON.parse(await readFile(join(copy, "package.json"), "utf8")).exports["./greeting"]).toEqual({
    types: "./dist/caps/greeting/index.d.ts",
    default: "./dist/caps/greeting/index.js",
  });
  expect(after.get("docs/reference/README.md")).toContain("(greeting.md)");
  expect(JSON.parse(after.get("docs/reference/a2e.schema.json") ?? "").$defs).toHaveProperty(["greeting/hello/req"]);
  expect(after.get("docs/reference/greeting.md")).toContain("Greets somebody by name.");
  expect(after.get("docs/reference/errors.md")).toContain("nobody_there");
  expect(after.get("docs/reference/dialects.md")).toMatch(/`greeting` \| `greetings`[\s\S]*greeting\/hi/);
  expect(after.get("src/conformance/vectors/greeting.ndjson")?.trim().split("\n")).toHaveLength(5);

  // It runs, and `client.greeting.hello` is typed as the table says.
  await writeFile(join(copy, "program.ts"), program);
  await writeFile(
    join(copy, "tsconfig.program.json"),
    JSON.stringify({ extends: "./tsconfig.json", include: ["program.ts"] }),
  );
  const [{ stdout }] = await Promise.all([
    run(process.execPath, ["--import", "tsx", "program.ts"], { cwd: copy }),
    run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.program.json"], { cwd: copy }),
  ]);
  expect(stdout.trim()).toBe("Hello, Grace true true");
});

test("a page that no capability stands behind any more is removed", async () => {
  await writeFile(join(copy, "docs/reference/forgotten.md"), "# forgotten\n");

  await generate();

  expect(await readdir(join(copy, "docs/reference"))).not.toContain("forgotten.md");
});
