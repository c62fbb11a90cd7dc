// The sandboxes of a host, each tested when it is first used.
import { defaultDockerImage, defaultSandboxLimits } from "../config/sandbox.ts";
import type {
  ProcessSandbox,
  Sandbox,
  Sandboxes,
  SandboxLimits,
  SandboxPolicy,
  SandboxReport,
  ScriptSandbox,
} from "../plugin/ports/sandbox.ts";
import { openBubblewrap } from "./bubblewrap/probe.ts";
import { openDocker } from "./docker/probe.ts";
import { createNoSandbox } from "./none.ts";
import type { Opened } from "./opened.ts";
import { createQuickJs } from "./quickjs/quickjs.ts";

export interface SandboxesOptions {
  /**
   * The sandbox for `process()` without a name, or with `auto`. Here `auto` selects the best that works, and never
   * `none`.
   */
  default?: "auto" | (string & {});
  /** False rejects every policy that asks for the network. */
  isNetworkAllowed?: boolean;
  /** Files and folders that every program may read, in addition to its policy. */
  readable?: readonly string[];
  /** Folders of the host itself, which no program sees, even inside of its workspace. */
  hidden?: readonly string[];
  dockerImage?: string;
  limits?: Partial<SandboxLimits>;
}

/** The candidates of `auto`, best first. */
const automatic = ["bubblewrap", "docker"];

export function createSandboxes(options: SandboxesOptions = {}): Sandboxes {
  const defaults = { ...defaultSandboxLimits, ...options.limits };
  const { dockerImage: image = defaultDockerImage, hidden = [] } = options;
  const openers: Record<string, () => Promise<Opened<Sandbox>>> = {
    bubblewrap: () => openBubblewrap({ defaults, hidden }),
    docker: () => openDocker({ defaults, image, hidden }),
    quickjs: async () => ({
      sandbox: createQuickJs({ defaults }),
      explanation: "JavaScript without files, network or processes",
    }),
    none: async () => ({
      sandbox: createNoSandbox(),
      explanation: "confines nothing; used only if configured by name",
    }),
  };
  const opened = new Map<string, Promise<Opened<Sandbox>>>();
  let closed: Promise<void> | undefined;

  function open(name: string): Promise<Opened<Sandbox>> {
    if (closed !== undefined) throw new Error("the sandboxes of this host are closed");
    const known = opened.get(name);
    if (known !== undefined) return known;
    const opener = Object.hasOwn(openers, name) ? openers[name] : undefined;
    if (opener === undefined) {
      throw new Error(`unknown sandbox "${name}"; the sandboxes are ${Object.keys(openers).join(", ")}`);
    }
    const opening = opener();
    opened.set(name, opening);
    return opening;
  }

  async function choose(names: readonly string[]): Promise<Sandbox> {
    const reasons: string[] = [];
    for (const name of names) {
      const result = await open(name);
      if (result.sandbox !== undefined) return result.sandbox;
      reasons.push(`${name}: ${explain(result)}`);
    }
    throw new Error(`no sandbox works here (${reasons.join("; ")})`);
  }

  return {
    async process(name = "auto"): Promise<ProcessSandbox> {
      // A plugin without a preference gets the sandbox of the host's config, which may be `auto` as well.
      const wanted = name === "auto" ? (options.default ?? "auto") : name;
      const sandbox = await choose(wanted === "auto" ? automatic : [wanted]);
      if (sandbox.kind !== "process") throw new Error(`the sandbox "${sandbox.name}" runs scripts, not programs`);
      return withHostPolicy(sandbox, options);
    },
    async script(name = "quickjs"): Promise<ScriptSandbox> {
      const sandbox = await choose([name]);
      if (sandbox.kind !== "script") throw new Error(`the sandbox "${sandbox.name}" runs programs, not scripts`);
      return sandbox;
    },
    report: () =>
      Promise.all(
        Object.keys(openers).map(async (name): Promise<SandboxReport> => {
          const result = await open(name);
          return { name, isUsable: result.sandbox !== undefined, explanation: explain(result) };
        }),
      ),
    close() {
      closed ??= closeAll(opened);
      return closed;
    },
  };
}

function explain({ explanation, advice }: Opened<unknown>): string {
  return advice === undefined ? explanation : `${explanation}. ${advice}`;
}

async function closeAll(opened: ReadonlyMap<string, Promise<Opened<Sandbox>>>): Promise<void> {
  const all = await Promise.all(opened.values());
  await Promise.all(all.map(({ sandbox }) => sandbox?.close()));
}

/** Applies the operator's policy in addition to the plugin's. */
function withHostPolicy(
  sandbox: ProcessSandbox,
  { isNetworkAllowed = true, readable = [] }: SandboxesOptions,
): ProcessSandbox {
  return {
    ...sandbox,
    async confine(command, policy) {
      if (policy.network && !isNetworkAllowed) {
        throw new Error("programs may not use the network: the config does not set sandbox.network");
      }
      const widened: SandboxPolicy = { ...policy, readable: [...readable, ...(policy.readable ?? [])] };
      return sandbox.confine(command, widened);
    },
  };
}
