// How bubblewrap is started, and what happens inside before the program: two small shell scripts, since only a process itself
// can join a control group, give up its user or lower its limits.
import { constants } from "node:os";
import type { ConfinedCommand, SandboxLimits } from "../../host/ports/sandbox.ts";
import { closingLines } from "../../machinery/processes/inherited-files.ts";
import { reportDescriptor, reportingLines } from "../../machinery/processes/program-end.ts";
import { passedSignals } from "../../machinery/processes/signal-names.ts";
import { ownedByRoot } from "../workspace/handover.ts";
import type { Identity } from "../workspace/identity.ts";

export interface Tools {
  sh: string;
  /** Only where files with numbers above 9 are to be closed, which a plain shell cannot. */
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

/** Of what Linux tells about processes, whatever its clock. */
const ticksPerSecond = 100;

/** Where bubblewrap finds the filter of system calls. */
export const filterDescriptor = 9;

/** Under these names the values of the environment reach the last step: no loader or shell on the way knows them. */
const valueName = (index: number) => `A2E_VALUE_${index}`;

export interface OuterScriptOptions {
  joinFiles: readonly string[];
  filterFile: string | undefined;
  bash: string | undefined;
  /** Whether there is a pipe for reports, which is to stay open. */
  isReported: boolean;
}

/**
 * Joins the control groups, then becomes bubblewrap. Ignored signals stay ignored in what is executed, so bubblewrap ignores
 * them too; the last step inside gives the program the usual dispositions back. To be run with itself as its name.
 */
export function outerScript({ joinFiles, filterFile, bash, isReported }: OuterScriptOptions): string {
  const joins = joinFiles.map(
    (file) => `echo 0 > ${quote(file)} || { echo 'a2e-sandbox: cannot join the control group' >&2; exit 1; }`,
  );
  const filter = filterFile === undefined ? "" : ` ${filterDescriptor}< ${quote(filterFile)}`;
  // Bubblewrap hands on what it is given, and the host cannot know at the moment of the start what it holds.
  const closing = closingLines({
    bash: bash === undefined ? undefined : quote(bash),
    lastKept: isReported ? reportDescriptor : 2,
    otherwise: "{ echo 'a2e-sandbox: files that the host holds open cannot be closed; that takes bash' >&2; exit 1; }",
  });
  return ["set -e", closing, ...joins, `trap '' ${passedSignals.join(" ")}`, `exec "$@"${filter}`].join("\n");
}

export interface InnerScriptOptions {
  tools: Tools;
  command: ConfinedCommand;
  /** Its absolute path. */
  program: string;
  limits: SandboxLimits;
  /** Where bubblewrap runs as root: who the program becomes. */
  identity: Identity | undefined;
  /** A folder of root's that the program may write: it becomes the program's. */
  handover?: string | undefined;
  /** Whether processes are counted here; a control group counts better. */
  countsProcesses: boolean;
  /** Whether memory is limited here, for each process alone; a control group limits the sum. */
  limitsMemory: boolean;
  /** Whether it is told here that processor time was over; a control group knows it anyway. */
  judgesTime: boolean;
}

/**
 * Gives up everything, step by step, and becomes the program, whose arguments follow as "$@". Where there is a pipe for
 * reports, the shell stays beside it, since nobody else learns how the program ends: bubblewrap makes a code of a signal.
 */
export function innerScript(options: InnerScriptOptions): string {
  const { tools, command, identity, handover } = options;
  const names = Object.keys(command.env);
  const steps = [
    ...(identity === undefined ? [] : becoming(tools, identity, options.countsProcesses)),
    ...[tools.prlimit, ...limitArguments(options), "--"],
    // Whatever follows is a variable, also one whose name looks like an option.
    ...[tools.env, "-i", "--default-signal", "--"],
    // The shell fills the values in: a process's arguments are public, its environment is not.
    ...names.map((name, index) => `${quote(`${name}=`)}"$${valueName(index)}"`),
    // A program with "=" in its path would be taken for one more variable.
    ...(options.program.includes("=") ? [tools.sh, "-c", quote('exec "$@"'), "sh"] : []),
    '"$@"',
  ];
  const owned = ownedByRoot.map(quote).join(" ");
  // What is read-only here cannot change, and is no failure.
  const handing =
    identity === undefined || handover === undefined
      ? []
      : [
          `${tools.find} ${quote(handover)} -xdev ${owned} -exec ${tools.chown} -h ${identity.uid}:${identity.gid} '{}' + 2> /dev/null || :`,
        ];
  // Where it is of the program's own user, the program can write to its memory: what it may use has an end, too.
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
 * A program that ignored the warning is killed at the hard limit, and told like one that heeded it. Nobody else could tell: a
 * control group knows the time of its members, and without one, only the parent learns it. The kernel's limit counts ticks
 * and its sums are measured, so that they differ by a few percent.
 */
function namingTimeout({ cpuSeconds }: SandboxLimits): string {
  const { SIGKILL, SIGXCPU } = constants.signals;
  const ticks = Math.floor(hardCpuSeconds(cpuSeconds) * ticksPerSecond * 0.75);
  // Of the children that were waited for: the 16th and 17th field, counted here from the third.
  return `if [ "$code" = ${128 + SIGKILL} ]; then
  read -r a2e_stat < /proc/$$/stat
  set -- \${a2e_stat##*) }
  [ "$((\${14:-0} + \${15:-0}))" -lt ${ticks} ] || code=${128 + SIGXCPU}
fi`;
}

/** The environment of the outer script: nothing but values under names that mean nothing. */
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
    // Linux counts the processes of a user per user namespace: in one of its own, the program is not charged for others.
    ...[tools.unshare, "--user", "--map-current-user", "--keep-caps"],
    // It is the last one, since the filter has to allow this step: in another, the program would have every capability.
    ...[tools.sh, "-c", quote(last), "a2e-sandbox"],
  ];
}

/** Of the first process inside, which is there beside the program and needs a little itself. */
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
    // The second one is the hard limit: what ignores the signal at the first is killed a second later.
    `--cpu=${Math.ceil(limits.cpuSeconds)}:${hardCpuSeconds(limits.cpuSeconds)}`,
    `--fsize=${limits.fileBytes}`,
    `--nofile=${limits.openFiles}`,
    ...(countsProcesses ? [`--nproc=${limits.processes}`] : []),
    // Not the address space: runtimes reserve far more of that than they use.
    ...(limitsMemory ? [`--data=${limits.memoryBytes}`] : []),
  ];
}

function hardCpuSeconds(cpuSeconds: number): number {
  return Math.ceil(cpuSeconds) + 1;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
