// How bubblewrap is started, and the steps inside before the program: two small shell scripts, since only a process
// itself can join a control group, change its user or lower its limits.
import { constants } from "node:os";
import { closingLines } from "../../machinery/processes/inherited-files.ts";
import { reportDescriptor, reportingLines } from "../../machinery/processes/program-end.ts";
import { passedSignals } from "../../machinery/processes/signal-names.ts";
import type { ConfinedCommand, SandboxLimits } from "../../plugin/ports/sandbox.ts";
import { ownedByRoot } from "../workspace/handover.ts";
import type { Identity } from "../workspace/identity.ts";

export interface Tools {
  sh: string;
  /** Needed only to close file descriptors above 9, which a plain shell cannot do. */
  bash?: string | undefined;
  bwrap: string;
  env: string;
  prlimit: string;
  setpriv: string;
  unshare: string;
  find: string;
  chown: string;
}

/** Bubblewrap itself and the first process inside. */
export const ownProcesses = 2;

/** Clock ticks per second in /proc, on every Linux. */
const ticksPerSecond = 100;

/** The descriptor from which bubblewrap reads the system call filter. */
export const filterDescriptor = 9;

/**
 * Environment values are passed under these names up to the last step: no loader or shell on the way interprets them.
 */
const valueName = (index: number) => `A2E_VALUE_${index}`;

export interface OuterScriptOptions {
  joinFiles: readonly string[];
  filterFile: string | undefined;
  bash: string | undefined;
  /** Whether there is a pipe for reports, which must stay open. */
  isReported: boolean;
}

/**
 * Joins the control groups, then executes bubblewrap. Ignored signals stay ignored across exec, so bubblewrap ignores
 * them too; the last step inside restores the default handling for the program. The script must be passed as its own
 * name ($0).
 */
export function outerScript({ joinFiles, filterFile, bash, isReported }: OuterScriptOptions): string {
  const joins = joinFiles.map(
    (file) => `echo 0 > ${quote(file)} || { echo 'a2e-sandbox: cannot join the control group' >&2; exit 1; }`,
  );
  const filter = filterFile === undefined ? "" : ` ${filterDescriptor}< ${quote(filterFile)}`;
  // Bubblewrap passes on all open descriptors, and the host cannot know which are open when it starts.
  const closing = closingLines({
    bash: bash === undefined ? undefined : quote(bash),
    lastKept: isReported ? reportDescriptor : 2,
    otherwise: "{ echo 'a2e-sandbox: open files of the host cannot be closed; bash is needed for that' >&2; exit 1; }",
  });
  return ["set -e", closing, ...joins, `trap '' ${passedSignals.join(" ")}`, `exec "$@"${filter}`].join("\n");
}

export interface InnerScriptOptions {
  tools: Tools;
  command: ConfinedCommand;
  /** Its absolute path. */
  program: string;
  limits: SandboxLimits;
  /** The user that the program becomes, if bubblewrap runs as root. */
  identity: Identity | undefined;
  /** A folder of root that the program may write: its ownership passes to the program's user. */
  handover?: string | undefined;
  /** Whether processes are counted here; a control group counts more precisely. */
  countsProcesses: boolean;
  /** Whether memory is limited here, per process; a control group limits the sum. */
  limitsMemory: boolean;
  /** Whether a CPU timeout is reported here; a control group measures it otherwise. */
  judgesTime: boolean;
}

/**
 * Drops privileges step by step and executes the program, whose arguments follow as "$@". If there is a pipe for
 * reports, the shell stays as its parent: only the parent learns how the program ends, since bubblewrap converts
 * signals to exit codes.
 */
export function innerScript(options: InnerScriptOptions): string {
  const { tools, command, identity, handover } = options;
  const names = Object.keys(command.env);
  const steps = [
    ...(identity === undefined ? [] : becoming(tools, identity, options.countsProcesses)),
    ...[tools.prlimit, ...limitArguments(options), "--"],
    // After `--`, a variable whose name looks like an option is still a variable.
    ...[tools.env, "-i", "--default-signal", "--"],
    // The shell inserts the values: a process's arguments are public, its environment is not.
    ...names.map((name, index) => `${quote(`${name}=`)}"$${valueName(index)}"`),
    // `env` would take a program with "=" in its path for another variable.
    ...(options.program.includes("=") ? [tools.sh, "-c", quote('exec "$@"'), "sh"] : []),
    '"$@"',
  ];
  const owned = ownedByRoot.map(quote).join(" ");
  // Read-only files cannot be changed, which is not a failure.
  const handing =
    identity === undefined || handover === undefined
      ? []
      : [
          `${tools.find} ${quote(handover)} -xdev ${owned} -exec ${tools.chown} -h ${identity.uid}:${identity.gid} '{}' + 2> /dev/null || :`,
        ];
  // If the first process runs as the program's user, the program can write to its memory: so it gets the same limits.
  const limiting = identity === undefined ? [[tools.prlimit, "--pid", "1", ...firstLimits(options)].join(" ")] : [];
  const running = command.isReported
    ? [
        "set +e",
        ...reportingLines(steps.join(" ")),
        ...(options.judgesTime ? [namingTimeout(options.limits)] : []),
        'exit "$code"',
      ]
    : [`exec ${steps.join(" ")}`];
  return ["set -e", ...limiting, ...handing, ...running].join("\n");
}

/**
 * A program that ignores SIGXCPU is killed at the hard limit; this reports it as a CPU timeout too. Without a control
 * group, only the parent can know the CPU time of its children. The kernel's limit counts ticks while its totals are
 * measured, so they differ by a few percent.
 */
function namingTimeout({ cpuSeconds }: SandboxLimits): string {
  const { SIGKILL, SIGXCPU } = constants.signals;
  const ticks = Math.floor(hardCpuSeconds(cpuSeconds) * ticksPerSecond * 0.75);
  // The times of the children that were waited for: fields 16 and 17, counted here from the third.
  return `if [ "$code" = ${128 + SIGKILL} ]; then
  read -r a2e_stat < /proc/$$/stat
  set -- \${a2e_stat##*) }
  [ "$((\${14:-0} + \${15:-0}))" -lt ${ticks} ] || code=${128 + SIGXCPU}
fi`;
}

/** The environment of the outer script: only the values, under meaningless names. */
export function outerEnvironment(env: ConfinedCommand["env"]): Record<string, string> {
  return Object.fromEntries(Object.values(env).map((value, index) => [valueName(index), value]));
}

function becoming(tools: Tools, { uid, gid }: Identity, countsProcesses: boolean): string[] {
  const none = ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"];
  const identity = [tools.setpriv, `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", ...none];
  if (!countsProcesses) return identity;
  const last = `echo 0 > /proc/sys/user/max_user_namespaces && exec ${[tools.setpriv, ...none].join(" ")} "$@"`;
  return [
    ...identity,
    // Linux counts the processes of a user per user namespace: in its own namespace, the program is not charged for
    // others.
    ...[tools.unshare, "--user", "--map-current-user", "--keep-caps"],
    // Forbids further namespaces: the filter must allow this one, and in another the program would have all
    // capabilities.
    ...[tools.sh, "-c", quote(last), "a2e-sandbox"],
  ];
}

/** Limits of the first process inside, which runs next to the program and needs some resources itself. */
function firstLimits(options: InnerScriptOptions): string[] {
  const { memoryBytes, processes, openFiles } = options.limits;
  const limits = {
    ...options.limits,
    memoryBytes: Math.max(memoryBytes, 32 * 1024 * 1024),
    processes: processes + ownProcesses,
    openFiles: Math.max(openFiles, 32),
  };
  return limitArguments({ ...options, limits });
}

function limitArguments({ limits, countsProcesses, limitsMemory }: InnerScriptOptions): string[] {
  return [
    "--core=0",
    // The second value is the hard limit: a process that ignores SIGXCPU at the first is killed a second later.
    `--cpu=${Math.ceil(limits.cpuSeconds)}:${hardCpuSeconds(limits.cpuSeconds)}`,
    `--fsize=${limits.fileBytes}`,
    `--nofile=${limits.openFiles}`,
    ...(countsProcesses ? [`--nproc=${limits.processes}`] : []),
    // Not the address space: runtimes reserve much more of it than they use.
    ...(limitsMemory ? [`--data=${limits.memoryBytes}`] : []),
  ];
}

function hardCpuSeconds(cpuSeconds: number): number {
  return Math.ceil(cpuSeconds) + 1;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
