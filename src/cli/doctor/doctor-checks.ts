// The checks of `a2e doctor`. A missing part that only some tools need is a warning; a part that every host needs is a
// failure.
import { access, constants, mkdtemp, rm, stat, statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { builtinPlugins } from "../../caps/plugins.generated.ts";
import { checkBinding } from "../../compose/binding.ts";
import { checkTlsFiles } from "../../compose/tls-config.ts";
import { toHostConfig } from "../../config/parsing.ts";
import { loadPlugins } from "../../config/plugin-loading.ts";
import type { A2EHostConfig } from "../../config/schema.ts";
import { silentLogger } from "../../plugin/logger.ts";
import { messageOf } from "../../protocol/errors.ts";
import { openSqlite } from "../../stores/sqlite/sqlite.ts";
import { type ConfigChoice, readConfig } from "../hosting/config-options.ts";
import { findNodeProblem } from "../node-version.ts";
import type { Terminal } from "../terminal.ts";
import { checkAuth } from "./auth-checks.ts";
import type { Finding } from "./finding.ts";
import { checkSandboxes } from "./sandbox-checks.ts";

export async function examine(choice: ConfigChoice, terminal: Terminal): Promise<Finding[]> {
  const { finding, config } = await checkConfig(choice, terminal);
  const checks = [
    checkNode(process.versions.node),
    finding,
    checkPlugins(config),
    checkSqlite(),
    checkFolder("data", config.data_dir, "--data-dir names another"),
    checkFolder("workspace", config.workspace_dir, "--workspace names another"),
    checkPort(config.server.host, config.server.port),
    checkAuth(config),
    checkSandboxes(config),
    checkProgram("chromium", ["chromium", "chromium-browser", "google-chrome"], "runs the browser tests", terminal),
  ];
  return (await Promise.all(checks)).flat();
}

function checkNode(version: string): Finding {
  const problem = findNodeProblem(version);
  if (problem === undefined) return { name: "node", status: "ok", message: version };
  return { name: "node", status: "fail", message: problem, advice: "Install a newer version from https://nodejs.org." };
}

async function checkConfig(
  choice: ConfigChoice,
  terminal: Terminal,
): Promise<{ finding: Finding; config: A2EHostConfig }> {
  try {
    const { config, path } = await readConfig(choice, terminal);
    checkBinding(config);
    checkTlsFiles(config, Date.now());
    return { finding: { name: "config", status: "ok", message: path ?? "none: defaults are used" }, config };
  } catch (error) {
    const finding: Finding = {
      name: "config",
      status: "fail",
      message: messageOf(error),
      advice: `\`${terminal.program} init\` writes a valid config.`,
    };
    // The other questions are still worth an answer.
    return { finding, config: toHostConfig({}, { baseDir: terminal.cwd, env: {} }) };
  }
}

/** Loads the plugins as a host would, without setting them up. */
async function checkPlugins(config: A2EHostConfig): Promise<Finding> {
  try {
    const loaded = await loadPlugins(config, { builtin: builtinPlugins, log: silentLogger });
    return { name: "plugins", status: "ok", message: loaded.map(({ name }) => name).join(", ") || "none" };
  } catch (error) {
    return { name: "plugins", status: "fail", message: messageOf(error), advice: "No host starts with this config." };
  }
}

async function checkSqlite(): Promise<Finding> {
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(tmpdir(), "a2e-doctor-"));
    const database = await openSqlite({ path: join(folder, "probe.sqlite"), migrations: [] });
    try {
      const version = String(database.prepare("SELECT sqlite_version() AS version").get()?.version);
      database.exec("CREATE VIRTUAL TABLE probe USING fts5(text)");
      return { name: "sqlite", status: "ok", message: `${version} with full-text search` };
    } finally {
      database.close();
    }
  } catch (error) {
    const advice = "Reinstall the package on this machine, or set snapshot_store.type to file.";
    return { name: "sqlite", status: "fail", message: messageOf(error), advice };
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** A host with less is soon out of order: sessions that cannot be written are dropped. */
const scarceMebibytes = 100;

/** If the folder does not exist yet, it must be possible to create it. The check writes no file. */
async function checkFolder(name: string, path: string, advice: string): Promise<Finding> {
  const nearest = await nearestExisting(path);
  const isThere = nearest === path;
  if (!(await stat(nearest)).isDirectory())
    return { name, status: "fail", message: `${nearest} is a file, not a folder`, advice: `${advice}.` };
  try {
    await access(nearest, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(nearest);
    const freeMebibytes = Math.floor((bavail * bsize) / 1024 ** 2);
    if (freeMebibytes < scarceMebibytes)
      return { name, status: "warn", message: `${path}: the disk has ${freeMebibytes} MiB left`, advice: `${advice}.` };
    return { name, status: "ok", message: isThere ? path : `${path} (will be made)` };
  } catch {
    return { name, status: "fail", message: `${path} cannot be written by this user`, advice: `${advice}.` };
  }
}

async function nearestExisting(path: string): Promise<string> {
  try {
    await access(path);
    return path;
  } catch {
    const parent = dirname(path);
    return parent === path ? path : nearestExisting(parent);
  }
}

function checkPort(host: string, port: number): Promise<Finding> {
  const name = "port";
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === "EADDRINUSE";
      const message = isTaken ? `${port} on ${host} is in use` : `${host}:${port} cannot be opened: ${error.message}`;
      // The port may be in use by the user's own host.
      const advice = "If that is not your host, choose another with --port.";
      resolve({ name, status: isTaken ? "warn" : "fail", message, advice });
    });
    server.listen(port, host, () => {
      server.close(() =>
        resolve({ name, status: "ok", message: port === 0 ? "any free one" : `${port} on ${host} is free` }),
      );
    });
  });
}

async function checkProgram(
  name: string,
  commands: readonly string[],
  use: string,
  terminal: Terminal,
): Promise<Finding> {
  for (const command of commands) {
    const path = await findInPath(command, terminal.env.PATH ?? "");
    if (path !== undefined) return { name, status: "ok", message: path };
  }
  return { name, status: "warn", message: `not found; it ${use}`, advice: `On Debian: apt-get install ${name}` };
}

async function findInPath(command: string, path: string): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter((folder) => folder !== "")) {
    const file = join(folder, command);
    try {
      await access(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder of PATH.
    }
  }
  return undefined;
}
