// Tests whether bubblewrap works here by running a program in it: kernels and distributions forbid it in too many ways
// to list.
import type { ProcessSandbox, SandboxLimits } from "../../plugin/ports/sandbox.ts";
import { messageOf } from "../../protocol/errors.ts";
import { findControlGroups } from "../control-groups/control-groups.ts";
import type { Opened } from "../opened.ts";
import { runProgram } from "../processes/run-program.ts";
import { findHostProgram } from "../workspace/visible-paths.ts";
import { type BubblewrapOptions, createBubblewrap } from "./bubblewrap.ts";
import type { Tools } from "./command-line.ts";

const toolNames = ["sh", "bwrap", "env", "prlimit", "setpriv", "unshare", "find", "chown"] as const;
const packages: Partial<Record<keyof Tools, string>> = {
  bwrap: "bubblewrap",
  prlimit: "util-linux",
  setpriv: "util-linux",
  unshare: "util-linux",
};
const probeTimeoutMs = 10_000;

export interface BubblewrapProbeOptions {
  defaults: SandboxLimits;
  hidden?: readonly string[];
  /** False disables control groups, even if they could be used. */
  usesControlGroups?: boolean;
}

export async function openBubblewrap({
  defaults,
  hidden = [],
  usesControlGroups = true,
}: BubblewrapProbeOptions): Promise<Opened<ProcessSandbox>> {
  if (process.platform !== "linux") return { explanation: "it needs Linux" };
  const found = await Promise.all(toolNames.map(async (name) => [name, await findHostProgram(name)] as const));
  const missing = found.filter(([, path]) => path === undefined).map(([name]) => name);
  if (missing.length > 0) {
    const wanted = [...new Set(missing.map((name) => packages[name] ?? name))];
    return { explanation: `${missing.join(", ")} not found`, advice: `On Debian: apt-get install ${wanted.join(" ")}` };
  }
  const tools = { ...Object.fromEntries(found), bash: await findHostProgram("bash") } as unknown as Tools;
  const groups = usesControlGroups ? await findControlGroups() : undefined;
  // The right to create groups does not include the right to join them.
  for (const candidate of groups === undefined ? [undefined] : [groups, undefined]) {
    const attempt = await tryOut({
      tools,
      defaults,
      hidden,
      ...(candidate === undefined ? {} : { groups: candidate }),
    });
    if ("sandbox" in attempt) return { ...attempt, explanation: describe(candidate?.version) };
    if (candidate === undefined) return { explanation: attempt.problem };
  }
  return { explanation: "it does not work here" };
}

/** Runs a program in the sandbox. The problem is described in bubblewrap's own words. */
async function tryOut(options: BubblewrapOptions): Promise<{ sandbox: ProcessSandbox } | { problem: string }> {
  let sandbox: ProcessSandbox | undefined;
  try {
    sandbox = await createBubblewrap(options);
    const command = { argv: ["true"] as const, cwd: "/tmp", env: {} };
    const confinement = await sandbox.confine(command, { network: false, limits: {} });
    const { code, signal, stderr } = await runProgram({ ...confinement, timeoutMs: probeTimeoutMs });
    await confinement.release();
    if (code === 0) return { sandbox };
    await sandbox.close();
    return { problem: stderr.trim().split("\n").at(-1) || `a trial run ended with ${signal ?? code}` };
  } catch (error) {
    await sandbox?.close();
    return { problem: messageOf(error) };
  }
}

function describe(groupVersion: number | undefined): string {
  const apart = "system read-only, own /tmp, no network unless allowed";
  return groupVersion === undefined
    ? `${apart}; memory is limited only per process, because control groups cannot be created here`
    : `${apart}; memory, processes and processor time by control groups (version ${groupVersion})`;
}
