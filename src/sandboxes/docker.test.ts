import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { defaultDockerImage, defaultSandboxLimits as defaults } from "../host/config/sandbox.ts";
import { testConfinement } from "./confinement.suite.ts";
import { confinementArguments, createDocker } from "./docker.ts";
import { openDocker } from "./docker-probe.ts";
import { reportNotRun } from "./not-run.suite.ts";
import { testProcessSandbox } from "./process-sandbox.suite.ts";

const probe = await openDocker({ defaults, image: defaultDockerImage });

if (probe.sandbox === undefined) reportNotRun("docker", probe.explanation);
else {
  const open = async () => {
    const { sandbox, explanation } = await openDocker({ defaults, image: defaultDockerImage });
    if (sandbox === undefined) throw new Error(explanation);
    return sandbox;
  };
  testProcessSandbox("docker", open);
  testConfinement("docker", open, { node: "/usr/local/bin/node", hasTreeLimits: false });
}

// What follows needs no daemon.

test("a container gets no network, no capability, a read-only system and every limit", () => {
  const args = confinementArguments({ network: false, limits: {} }, { ...defaults, processes: 7, cpuSeconds: 1.5 });
  const options = args.join(" ");
  for (const part of [
    "--network none",
    "--cap-drop ALL",
    "--security-opt no-new-privileges",
    "--read-only",
    "--pids-limit 7",
    "--ulimit cpu=2:3",
    `--memory ${defaults.memoryBytes} --memory-swap ${defaults.memoryBytes}`,
    `--ulimit fsize=${defaults.fileBytes}`,
  ]) {
    expect(options).toContain(part);
  }
  expect(confinementArguments({ network: true, limits: {} }, defaults)).not.toContain("--network");
});

test("the workspace is mounted as its policy says, also under a path with a comma", () => {
  const path = mkdtempSync(join(tmpdir(), 'a2e-docker,"odd"-'));
  try {
    const mounts = (access: "read" | "write") =>
      confinementArguments({ network: false, workspace: { path, access }, limits: {} }, defaults).at(-1);
    const quoted = path.replaceAll('"', '""');
    expect(mounts("write")).toBe(`type=bind,"source=${quoted}","target=${quoted}"`);
    expect(mounts("read")).toBe(`type=bind,"source=${quoted}","target=${quoted}",readonly`);
  } finally {
    rmSync(path, { recursive: true });
  }
});

test("values of the environment are not among the arguments, and the command is not the host's to influence", async () => {
  const docker = createDocker({ docker: "/bin/true", env: { HOME: "/" }, image: "image", defaults, label: "a=b" });
  const confinement = await docker.confine(
    { argv: ["program", "--privileged"], cwd: "/tmp", env: { TOKEN: "hidden-value", DOCKER_HOST: "evil" } },
    { network: false, limits: {} },
  );
  expect(confinement.args.join(" ")).not.toContain("hidden-value");
  expect(confinement.env).toEqual({ HOME: "/" });
  // Whatever follows the image belongs to the program.
  expect(confinement.args.slice(-2)).toEqual(["image", "--privileged"]);
  expect(confinement.args.slice(-4, -2)).toEqual(["--entrypoint", "program"]);
  await docker.close();
});

test("a failure of docker itself is a crash of the sandbox", async () => {
  const docker = createDocker({ docker: "/bin/true", env: {}, image: "image", defaults, label: "a=b" });
  const command = { argv: ["program"] as const, cwd: "/tmp", env: {} };
  const confinement = await docker.confine(command, { network: false, limits: {} });
  expect(await confinement.verdict({ code: 125, signal: null, stderr: "" })).toBe("sandbox_crash");
  expect(await confinement.verdict({ code: 152, signal: null, stderr: "" })).toBe("timeout");
  expect(await confinement.verdict({ code: 1, signal: null, stderr: "" })).toBeUndefined();
  await docker.close();
});
