// Runs programs in Linux namespaces with bubblewrap: they see the system read-only, a /tmp of their own and their
// workspace, but not the network, other processes or the host's environment.
import { randomUUID } from "node:crypto";
import { chmod, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exitBehindShell } from "../../machinery/processes/program-end.ts";
import type { ConfinedCommand, ProcessSandbox, SandboxLimits, SandboxPolicy } from "../../plugin/ports/sandbox.ts";
import type { ControlGroups } from "../control-groups/control-groups.ts";
import { LiveConfinements } from "../live-confinements.ts";
import { makePrivateFolder, removeAbandonedFolders } from "../processes/private-folder.ts";
import { assumeIdentity, type Identity, writeAccounts } from "../workspace/identity.ts";
import { checkCommand, checkWorkingDirectory, findProgram } from "../workspace/visible-paths.ts";
import { type ControlledConfinement, confineWatched, WorkspaceWatch } from "../workspace/workspace-watch.ts";
import {
  filterDescriptor,
  innerScript,
  outerEnvironment,
  outerScript,
  ownProcesses,
  type Tools,
} from "./command-line.ts";
import { endWithGroup, endWithoutGroup } from "./ending.ts";
import { createSystemCallFilter } from "./system-call-filter.ts";
import { createView } from "./view.ts";

export interface BubblewrapOptions {
  tools: Tools;
  defaults: SandboxLimits;
  /** Folders that no program sees, even inside of a visible folder. */
  hidden?: readonly string[];
  /** Without control groups, memory is limited only per process. */
  groups?: ControlGroups;
}

export async function createBubblewrap(options: BubblewrapOptions): Promise<ProcessSandbox> {
  await removeAbandonedFolders();
  const folder = await makePrivateFolder();
  // Programs of other users read the account files in it.
  await chmod(folder, 0o755);
  const filterFile = await writeFilter(folder, options.groups === undefined);
  const live = new LiveConfinements();
  const watch = new WorkspaceWatch({ except: options.hidden ?? [] });
  const accounts = new Map<number, Promise<Record<string, string>>>();

  function accountFiles(identity: Identity): Promise<Record<string, string>> {
    const known = accounts.get(identity.uid);
    if (known !== undefined) return known;
    const made = writeAccounts(folder, identity);
    accounts.set(identity.uid, made);
    return made;
  }

  return {
    kind: "process",
    name: "bubblewrap",
    confine: (command, policy) =>
      live.add(() =>
        confineWatched(watch, policy, { ...options.defaults, ...policy.limits }, (limits) =>
          confine(command, { ...policy, limits }, { ...options, accountFiles, filterFile }),
        ),
      ),
    async close() {
      await live.close();
      await watch.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

interface Context extends BubblewrapOptions {
  accountFiles(identity: Identity): Promise<Record<string, string>>;
  filterFile: string | undefined;
}

type LimitedPolicy = SandboxPolicy & { limits: SandboxLimits };

async function confine(
  command: ConfinedCommand,
  policy: LimitedPolicy,
  context: Context,
): Promise<ControlledConfinement> {
  const { tools, groups, hidden = [] } = context;
  const { limits } = policy;
  checkCommand(command);
  const isRoot = process.getuid?.() === 0;
  const { identity, handover } = assumeIdentity(policy);
  const replacements = await context.accountFiles(identity);
  const view = createView({ policy, hidden, scratchBytes: limits.scratchBytes, replacements });
  // The private /tmp always exists in the sandbox, and is not a folder of the host.
  if (command.cwd !== "/tmp") await checkWorkingDirectory(command.cwd, view.visible);
  const program = await findProgram(command, view.visible);
  // Also identifies the processes if there is no control group.
  const id = `a2e-${randomUUID()}`;
  const inner = innerScript({
    tools,
    command,
    program,
    limits,
    identity: isRoot ? identity : undefined,
    handover,
    countsProcesses: groups === undefined,
    limitsMemory: groups === undefined,
    judgesTime: groups === undefined,
  });
  const group = await groups?.create({ ...limits, processes: limits.processes + ownProcesses });
  const { isReported = false } = command;
  const outer = outerScript({ ...context, bash: tools.bash, joinFiles: group?.joinFiles ?? [], isReported });
  const args = [
    ...["-c", outer, outer, tools.bwrap],
    ...namespaces(policy, isRoot, context.filterFile !== undefined),
    // The shell that waits for the program is the first process: no process inside can kill it.
    ...(isReported ? ["--as-pid-1"] : []),
    ...(context.filterFile === undefined ? [] : ["--seccomp", String(filterDescriptor)]),
    ...view.args,
    ...["--chdir", command.cwd, "--", tools.sh, "-c", inner, id, program, ...command.argv.slice(1)],
  ];
  return {
    file: tools.sh,
    args,
    cwd: "/",
    env: outerEnvironment(command.env),
    exitOf: exitBehindShell,
    ...(group === undefined ? endWithoutGroup(id) : endWithGroup(group, limits)),
  };
}

function namespaces({ network }: SandboxPolicy, isRoot: boolean, isFiltered: boolean): string[] {
  // The capabilities that root needs to change its user inside and to hand over the workspace; all are dropped before
  // the program runs.
  const transient = ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP", "CAP_CHOWN", "CAP_DAC_READ_SEARCH"];
  return [
    ...["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"],
    ...(network ? [] : ["--unshare-net"]),
    // The filter prevents programs from creating user namespaces; without a filter, newer versions of bubblewrap can.
    ...(isRoot ? [] : ["--unshare-user", ...(isFiltered ? [] : ["--disable-userns"])]),
    ...["--cap-drop", "ALL", ...(isRoot ? transient.flatMap((name) => ["--cap-add", name]) : [])],
    ...["--die-with-parent"],
  ];
}

/** The path of the system call filter, if there is one for this architecture. */
async function writeFilter(folder: string, countsProcesses: boolean): Promise<string | undefined> {
  // As root, processes are counted in a user namespace that is created just before the program starts.
  const allowsUnshare = countsProcesses && process.getuid?.() === 0;
  const filter = createSystemCallFilter({ architecture: process.arch, allowsUnshare });
  if (filter === undefined) return undefined;
  const path = join(folder, "system-calls");
  await writeFile(path, filter);
  return path;
}
