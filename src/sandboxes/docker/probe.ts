// Tests whether docker works here. The command alone is not enough: it needs a daemon that answers, and the image.
import { hostname } from "node:os";
import { isAlive } from "../../machinery/processes/process-life.ts";
import type { ProcessSandbox, SandboxLimits } from "../../plugin/ports/sandbox.ts";
import type { Opened } from "../opened.ts";
import { removeAbandonedFolders } from "../processes/private-folder.ts";
import { runProgram } from "../processes/run-program.ts";
import { findHostProgram } from "../workspace/visible-paths.ts";
import { createDocker } from "./docker.ts";

const labelName = "a2e.host";
const probeTimeoutMs = 10_000;

export interface DockerProbeOptions {
  defaults: SandboxLimits;
  image: string;
  hidden?: readonly string[];
}

export async function openDocker({
  defaults,
  image,
  hidden = [],
}: DockerProbeOptions): Promise<Opened<ProcessSandbox>> {
  const docker = await findHostProgram("docker");
  if (docker === undefined) return { explanation: "docker not found" };
  const env = commandEnvironment();
  const run = (...args: string[]) => runProgram({ file: docker, args, env, timeoutMs: probeTimeoutMs });

  const version = await run("version", "--format", "{{.Server.Version}}");
  if (version.code !== 0) {
    return { explanation: `${docker} exists, but its daemon does not answer`, advice: "Start the docker daemon." };
  }
  if ((await run("image", "inspect", "--format", "{{.Id}}", image)).code !== 0) {
    return { explanation: `the image ${image} is not on this machine`, advice: `Run: docker pull ${image}` };
  }
  await removeAbandonedFolders();
  await removeAbandonedContainers(run);
  const sandbox = createDocker({
    docker,
    env,
    image,
    defaults,
    hidden,
    label: `${labelName}=${hostname()}/${process.pid}`,
  });
  return { sandbox, explanation: `containers of ${image}, by docker ${version.stdout.trim()}` };
}

/** A container outlives a host that was killed: the next host on this machine removes it. */
async function removeAbandonedContainers(run: (...args: string[]) => ReturnType<typeof runProgram>): Promise<void> {
  const format = `{{.ID}} {{.Label "${labelName}"}}`;
  const { stdout } = await run("ps", "--all", "--filter", `label=${labelName}`, "--format", format);
  for (const line of stdout.split("\n")) {
    const [id, owner = ""] = line.trim().split(" ");
    const at = owner.lastIndexOf("/");
    if (id && owner.slice(0, at) === hostname() && !isAlive(Number(owner.slice(at + 1))))
      await run("rm", "--force", id);
  }
}

function commandEnvironment(): Record<string, string> {
  const names = Object.keys(process.env).filter((name) => /^(PATH|HOME|DOCKER_\w+|XDG_RUNTIME_DIR)$/.test(name));
  return Object.fromEntries(names.map((name) => [name, process.env[name] ?? ""]));
}
