// Runs the conformance suite of the MCP project as its users do: its own command, in a separate process.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);
const suite = join(dirname(require.resolve("@modelcontextprotocol/conformance/package.json")), "dist/index.js");

/**
 * The suite imports `globSync` of `fs`, which Node has from version 22 on. It needs it only for a command that is not
 * used here, but could not be loaded on Node 20 without this.
 */
const shim = (() => {
  const fs = `export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => [];`;
  const hooks = `export const resolve = (name, context, next) => name === "fs" && context.parentURL?.includes("conformance")
    ? { url: ${JSON.stringify(toDataUrl(fs))}, shortCircuit: true } : next(name, context);`;
  return toDataUrl(`import { register } from "node:module"; register(${JSON.stringify(toDataUrl(hooks))});`);
})();

function toDataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

export interface ConformanceRun {
  readonly exitCode: number;
  readonly output: string;
}

/** Exits with 0 if exactly the expected scenarios fail. */
export async function runConformance(
  mode: "server" | "client" | "list",
  args: readonly string[],
  expectedFailures: Readonly<Record<string, string>> = {},
): Promise<ConformanceRun> {
  const folder = await mkdtemp(join(tmpdir(), "a2e-mcp-conformance-"));
  try {
    const baseline = join(folder, "expected.yaml");
    await writeFile(baseline, JSON.stringify({ [mode]: Object.keys(expectedFailures) }));
    const needsShim = Number(process.versions.node.split(".")[0]) < 22;
    const command = [...(needsShim ? ["--import", shim] : []), suite, mode, ...args];
    if (mode !== "list") command.push("--expected-failures", baseline);
    return await new Promise((resolve) => {
      execFile(process.execPath, command, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
        resolve({
          exitCode: typeof error?.code === "number" ? error.code : error === null ? 0 : 1,
          output: stdout + stderr,
        });
      });
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
