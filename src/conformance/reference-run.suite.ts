// Our own host against the whole suite, over every transport: asserted by the tests and shown in the README.
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startServer } from "../server/http-server.ts";
import { type ConformanceOptions, type ConformanceReport, runConformance } from "./index.ts";
import type { TransportKind } from "./link.ts";
import {
  referenceToken,
  startDirectReferenceHost,
  startReferenceHost,
  withReferenceFolder,
} from "./reference-host.suite.ts";

export const allTransports: readonly TransportKind[] = ["direct", "http", "websocket", "stdio"];

/**
 * Requirements that our host does not meet yet, each with the reason. A requirement that passes must leave this list.
 */
export const knownFailures = new Map<string, string>();

type RunOptions = Pick<ConformanceOptions, "onTraffic" | "filter">;

/** Runs over a transport against a host that lives as long as the run. */
export async function runReferenceHost(transport: TransportKind, options: RunOptions = {}): Promise<ConformanceReport> {
  const run = (target: ConformanceOptions["target"]) =>
    // Generous, since the machine may be busy with other work.
    runConformance({ ...options, target, token: referenceToken, transports: [transport], deadlineMs: 120_000 });
  if (transport === "direct") return run(startDirectReferenceHost);
  return withReferenceFolder((folder) => {
    if (transport === "stdio") return withBundledHost((path) => run(`"${process.execPath}" "${path}" "${folder}"`));
    return withServer(folder, run);
  });
}

/** As the README shows it. */
export function renderScores(reports: ReadonlyMap<TransportKind, ConformanceReport>): string {
  const rows = [...reports].map(
    ([transport, { score }]) => `| ${transport} | ${score.passed} | ${score.failed} | ${score.skipped} |`,
  );
  return ["| transport | passed | failed | skipped |", "| --- | ---: | ---: | ---: |", ...rows].join("\n");
}

async function withServer<Result>(folder: string, use: (url: string) => Promise<Result>): Promise<Result> {
  const host = await startReferenceHost(folder);
  const server = await startServer(host, { port: 0 });
  try {
    return await use(server.url);
  } finally {
    await server.close();
    await host.close(0);
  }
}

/**
 * A single file starts in a fraction of the time of a tree of TypeScript files, and the suite starts it dozens of
 * times.
 */
async function withBundledHost<Result>(use: (path: string) => Promise<Result>): Promise<Result> {
  const { build } = await import("esbuild");
  const folder = await mkdtemp(join(tmpdir(), "a2e-conformance-"));
  try {
    await symlink(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"));
    await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
    await build({
      entryPoints: [
        { in: at("./reference-host-stdio.suite.ts"), out: "host" },
        // Code of threads is looked for beside the code that starts them.
        { in: at("../machinery/threads/worker-entry.ts"), out: "worker-entry" },
        { in: at("../sandboxes/quickjs/quickjs-worker.ts"), out: "quickjs-worker" },
      ],
      outdir: folder,
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      logLevel: "error",
      // These packages find their compiled parts beside themselves, so they are not bundled.
      external: ["@photostructure/sqlite", "@jitl/quickjs-wasmfile-release-sync"],
      // Dependencies written for CommonJS ask for `require`.
      banner: {
        js: 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);',
      },
    });
    return await use(join(folder, "host.js"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
