// Runs programs in containers with the docker command, without a library. A program sees the system of the image.
// Whether the image has the program is known only when it runs: docker then exits with 127, as shells do.
import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exitBehindShell } from "../../machinery/processes/program-end.ts";
import type {
  ConfinedCommand,
  Confinement,
  ProcessSandbox,
  SandboxLimits,
  SandboxPolicy,
  SandboxVerdict,
} from "../../plugin/ports/sandbox.ts";
import { LiveConfinements } from "../live-confinements.ts";
import { makePrivateFolder } from "../processes/private-folder.ts";
import { verdictOfSignal } from "../processes/process-exit.ts";
import { runProgram } from "../processes/run-program.ts";
import { handoverArguments } from "../workspace/handover.ts";
import { chooseHostFolders, type HostFolder, systemFolders } from "../workspace/host-folders.ts";
import { assumeIdentity, type Identity } from "../workspace/identity.ts";
import { checkCommand, checkWorkingDirectory, findHostProgram, isWithin } from "../workspace/visible-paths.ts";
import { confineWatched, WorkspaceWatch } from "../workspace/workspace-watch.ts";
import { createContainerGuard } from "./container-guard.ts";

export interface DockerOptions {
  /** The path of the docker command. */
  docker: string;
  /** The variables of the host's environment that the command needs. */
  env: Readonly<Record<string, string>>;
  image: string;
  defaults: SandboxLimits;
  /** Folders that no program sees, even inside of a visible folder. */
  hidden?: readonly string[];
  /** Marks the containers of this host. */
  label: string;
}

/** Docker's exit code if docker itself failed and not the program. */
const dockerFailed = 125;
const commandTimeoutMs = 20_000;

export function createDocker(options: DockerOptions): ProcessSandbox {
  const live = new LiveConfinements();
  const guard = createContainerGuard(options);
  const watch = new WorkspaceWatch({ except: options.hidden ?? [] });
  return {
    kind: "process",
    name: "docker",
    confine: (command, policy) =>
      live.add(() => {
        // Before the container exists, so that it cannot be left behind.
        guard.add(options.label);
        return confineWatched(watch, policy, { ...options.defaults, ...policy.limits }, (limits) =>
          confine(command, { ...policy, limits }, options),
        );
      }),
    async close() {
      await live.close();
      await watch.close();
      await guard.close();
    },
  };
}

async function confine(
  command: ConfinedCommand,
  policy: SandboxPolicy & { limits: SandboxLimits },
  { docker, env, image, label, hidden = [] }: DockerOptions,
): Promise<Confinement> {
  checkCommand(command);
  const { identity, handover } = assumeIdentity(policy);
  const folders = chooseHostFolders(policy, { hidden, showsSystem: false });
  await checkPlace(command.cwd, folders);
  if (handover !== undefined) await handOver(handover, identity, folders);
  const name = `a2e-${randomUUID()}`;
  const folder = await makePrivateFolder();
  const environment = await environmentArguments(folder, command.env);
  let released: Promise<void> | undefined;

  const run = (args: readonly string[]) => runProgram({ file: docker, args, env, timeoutMs: commandTimeoutMs });

  async function remove(): Promise<void> {
    await run(["rm", "--force", "--volumes", name]);
    await rm(folder, { recursive: true, force: true });
  }

  const [program, ...rest] = command.argv;
  return {
    file: docker,
    args: [
      ...["run", "--name", name, "--label", label, "--pull", "never", "--interactive"],
      ...(command.isTerminal ? ["--tty"] : []),
      ...confinementArguments(policy, policy.limits, identity),
      ...folders.flatMap(mount),
      ...environment,
      ...["--workdir", command.cwd, "--entrypoint", program, image, ...rest],
    ],
    cwd: "/",
    env,
    // Docker reports no signals: an exit code above 128 is taken for a signal.
    exitOf: (exit) => exitBehindShell(exit),
    async verdict(exit): Promise<SandboxVerdict | undefined> {
      if (exit.code === dockerFailed) return "sandbox_crash";
      const { stdout } = await run(["inspect", "--format", "{{.State.OOMKilled}}", name]);
      if (exit.code !== 0 && stdout.trim() === "true") return "out_of_memory";
      return verdictOfSignal(exitBehindShell(exit));
    },
    release() {
      released ??= remove();
      return released;
    },
  };
}

/** Checks the folders that the host knows: the system belongs to the image, and /tmp always exists. */
async function checkPlace(cwd: string, folders: readonly HostFolder[]): Promise<void> {
  if (cwd === "/tmp" || systemFolders.some((folder) => isWithin(folder, cwd))) return;
  const paths = (isShown: boolean) =>
    folders.filter(({ access }) => (access !== "none") === isShown).map(({ path }) => path);
  await checkWorkingDirectory(cwd, { shown: paths(true), covered: paths(false) });
}

/** From outside, since a container that runs as root could leave setuid programs in the workspace. */
async function handOver(workspace: string, identity: Identity, folders: readonly HostFolder[]): Promise<void> {
  const [find, chown] = await Promise.all([findHostProgram("find"), findHostProgram("chown")]);
  if (find === undefined || chown === undefined)
    throw new Error("the programs find and chown are needed to change the owner of a workspace");
  const source = folders.find(({ path }) => path === workspace)?.source ?? workspace;
  const except = folders.filter(({ access }) => access !== "write").map((folder) => folder.source);
  const args = handoverArguments(source, identity, { chown, except });
  const { code, stderr } = await runProgram({ file: find, args, timeoutMs: commandTimeoutMs });
  if (code !== 0) throw new Error(`the owner of the workspace ${workspace} cannot be changed: ${stderr.trim()}`);
}

export function confinementArguments({ network }: SandboxPolicy, limits: SandboxLimits, user: Identity): string[] {
  const cpuSeconds = Math.ceil(limits.cpuSeconds);
  return [
    ...(network ? [] : ["--network", "none"]),
    ...["--init", "--hostname", "sandbox", "--log-driver", "none", "--read-only"],
    ...["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", `${user.uid}:${user.gid}`],
    ...["--tmpfs", `/tmp:rw,exec,nosuid,nodev,mode=1777,size=${limits.scratchBytes}`],
    ...["--shm-size", String(limits.scratchBytes)],
    // Equal values leave no swap.
    ...["--memory", String(limits.memoryBytes), "--memory-swap", String(limits.memoryBytes)],
    ...["--pids-limit", String(limits.processes), "--ulimit", `cpu=${cpuSeconds}:${cpuSeconds + 1}`],
    ...["--ulimit", `fsize=${limits.fileBytes}`, "--ulimit", `nofile=${limits.openFiles}`, "--ulimit", "core=0"],
  ];
}

/** A comma-separated list, in which a value with a comma is quoted. */
function toFields(fields: readonly string[]): string {
  return fields.map((text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)).join(",");
}

export function mount({ path, source, access }: HostFolder): string[] {
  const fields =
    access === "none"
      ? ["type=tmpfs", `target=${path}`, "tmpfs-size=4096", "tmpfs-mode=0555"]
      : ["type=bind", `source=${source}`, `target=${path}`, ...(access === "read" ? ["readonly"] : [])];
  return ["--mount", toFields(fields)];
}

/**
 * In a file, because arguments are public. The file format allows no line breaks, comment signs or spaces in names, and
 * a line with only a name would copy a variable of the host. Such entries are passed as arguments.
 */
async function environmentArguments(folder: string, env: ConfinedCommand["env"]): Promise<string[]> {
  const entries = Object.entries(env);
  const fits = ([name, value]: [string, string]) => /^\w+$/.test(name) && !/[\r\n]/.test(value);
  const file = join(folder, "environment");
  const lines = entries.filter(fits).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(file, lines.join(""), { mode: 0o600 });
  const others = entries.filter((entry) => !fits(entry));
  return ["--env-file", file, ...others.flatMap(([name, value]) => ["--env", `${name}=${value}`])];
}
