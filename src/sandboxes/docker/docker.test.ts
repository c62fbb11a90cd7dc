import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { link, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { defaultDockerImage, defaultSandboxLimits as defaults } from "../../config/sandbox.ts";
import { type Need, reportNotRun, rootUser, testWith } from "../../testing/needs.suite.ts";
import { makeWorkspace } from "../suites/confined-run.suite.ts";
import { testConfinement } from "../suites/confinement.suite.ts";
import { testProcessSandbox } from "../suites/process-sandbox.suite.ts";
import { testRefusals } from "../suites/refusals.suite.ts";
import { strangerId } from "../workspace/identity.ts";
import { confinementArguments, createDocker, mount } from "./docker.ts";
import { openDocker } from "./probe.ts";

const probe = await openDocker({ defaults, image: defaultDockerImage });
const docker: Need = { name: `docker (${probe.explanation})`, isMet: probe.sandbox !== undefined, isOptional: true };

// `npm run test:docker` starts a daemon, so a missing daemon is a failure there.
if (!docker.isMet && process.env.A2E_TEST_DOCKER === "required") throw new Error(probe.explanation);
if (probe.sandbox === undefined) reportNotRun("the shared suite of sandboxes for docker", docker);
else {
  const open = async () => {
    const { sandbox, explanation } = await openDocker({ defaults, image: defaultDockerImage });
    if (sandbox === undefined) throw new Error(explanation);
    return sandbox;
  };
  testProcessSandbox("docker", open);
  testConfinement("docker", open, {
    node: "/usr/local/bin/node",
    treeLimits: { memory: true, processorTime: false },
    ignoredWarning: "sandbox_crash",
    system: "image",
  });

  test("no container outlives its host, even if the host is killed", async () => {
    const script = join(import.meta.dirname, "fixtures/killed-host.suite.ts");
    const host = spawn(process.execPath, ["--import", "tsx", script], { stdio: ["ignore", "pipe", "inherit"] });
    const [label] = await once(host.stdout, "data");
    const containers = () => {
      const filter = ["--all", "--quiet", "--filter", `label=${String(label).trim()}`];
      return execFileSync("docker", ["ps", ...filter], { encoding: "utf8" }).trim();
    };
    await vi.waitFor(() => expect(containers()).not.toBe(""));
    host.kill("SIGKILL");
    await vi.waitFor(() => expect(containers()).toBe(""));
  });
}

// The following tests need no daemon.

testRefusals("docker", async (hidden) =>
  createDocker({ docker: "/bin/true", env: {}, image: "image", defaults, hidden, label: "a=b" }),
);

test("hidden folders are empty in a container, also if a link leads to them", async () => {
  await using folder = await makeWorkspace();
  const data = join(folder.path, "data");
  await mkdir(data);
  await symlink(folder.path, join(folder.path, "link"));
  const path = join(folder.path, "link");
  const docker = createDocker({ docker: "/bin/true", env: {}, image: "image", defaults, hidden: [data], label: "a=b" });
  const policy = { network: false, workspace: { path, access: "read" as const }, limits: {} };
  const { args } = await docker.confine({ argv: ["true"], cwd: path, env: {} }, policy);
  await docker.close();
  expect(args).toContain(`type=bind,source=${folder.path},target=${path},readonly`);
  expect(args).toContain(`type=tmpfs,target=${join(path, "data")},tmpfs-size=4096,tmpfs-mode=0555`);
});

testWith(rootUser)(
  "a container does not run as root: the owner of its workspace is changed, that of hidden folders is not",
  async () => {
    await using folder = await makeWorkspace();
    const data = join(folder.path, "data [1]");
    const inner = join(folder.path, "inner");
    await mkdir(data);
    await mkdir(inner);
    await writeFile(join(inner, "once"), "");
    await writeFile(join(data, "twice"), "");
    await link(join(data, "twice"), join(inner, "twice"));
    const docker = createDocker({
      docker: "/bin/true",
      env: {},
      image: "image",
      defaults,
      hidden: [data],
      label: "a=b",
    });
    const policy = { network: false, workspace: { path: folder.path, access: "write" as const }, limits: {} };
    const { args } = await docker.confine({ argv: ["true"], cwd: inner, env: {} }, policy);
    await docker.close();
    expect(args[args.indexOf("--user") + 1]).toBe(`${strangerId}:${strangerId}`);
    const ownerOf = async (path: string) => (await stat(path)).uid;
    expect(await ownerOf(folder.path)).toBe(strangerId);
    expect(await ownerOf(join(inner, "once"))).toBe(strangerId);
    expect(await ownerOf(join(inner, "twice"))).toBe(0);
    expect(await ownerOf(data)).toBe(0);
  },
);

test("a container gets no network, no capability, a read-only system and every limit", () => {
  const user = { uid: 1000, gid: 1001 };
  const limits = { ...defaults, processes: 7, cpuSeconds: 1.5 };
  const args = confinementArguments({ network: false, limits: {} }, limits, user);
  const options = args.join(" ");
  for (const part of [
    "--network none",
    "--user 1000:1001",
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
  expect(confinementArguments({ network: true, limits: {} }, defaults, user)).not.toContain("--network");
});

test("a folder is mounted as its access says, also under a path with a comma", () => {
  const folder = { path: '/a,"b"', source: "/c" };
  const target = '"target=/a,""b"""';
  expect(mount({ ...folder, access: "write" })).toEqual(["--mount", `type=bind,source=/c,${target}`]);
  expect(mount({ ...folder, access: "read" })).toEqual(["--mount", `type=bind,source=/c,${target},readonly`]);
  expect(mount({ ...folder, access: "none" }).at(-1)).toBe(`type=tmpfs,${target},tmpfs-size=4096,tmpfs-mode=0555`);
});

test("environment values are not in the arguments, and the program cannot influence the docker command", async () => {
  const docker = createDocker({ docker: "/bin/true", env: { HOME: "/" }, image: "image", defaults, label: "a=b" });
  const confinement = await docker.confine(
    { argv: ["program", "--privileged"], cwd: "/tmp", env: { TOKEN: "hidden-value", DOCKER_HOST: "evil" } },
    { network: false, limits: {} },
  );
  expect(confinement.args.join(" ")).not.toContain("hidden-value");
  expect(confinement.env).toEqual({ HOME: "/" });
  // Everything after the image belongs to the program.
  expect(confinement.args.slice(-2)).toEqual(["image", "--privileged"]);
  expect(confinement.args.slice(-4, -2)).toEqual(["--entrypoint", "program"]);
  await docker.close();
});

test("no variable name makes docker pass on a variable of the host", async () => {
  const docker = createDocker({ docker: "/bin/true", env: {}, image: "image", defaults, label: "a=b" });
  const env = { PLAIN: "1", "DOCKER_AUTH_CONFIG\nX": "2", "#note": "3", "two words": "4" };
  const { args } = await docker.confine({ argv: ["program"], cwd: "/tmp", env }, { network: false, limits: {} });
  const file = await readFile(args[args.indexOf("--env-file") + 1] ?? "", "utf8");
  await docker.close();
  expect(file).toBe("PLAIN=1\n");
  for (const variable of ["DOCKER_AUTH_CONFIG\nX=2", "#note=3", "two words=4"])
    expect(args[args.indexOf(variable) - 1]).toBe("--env");
});

test("a failure of docker itself is a sandbox_crash", async () => {
  const docker = createDocker({ docker: "/bin/true", env: {}, image: "image", defaults, label: "a=b" });
  const command = { argv: ["program"] as const, cwd: "/tmp", env: {} };
  const confinement = await docker.confine(command, { network: false, limits: {} });
  expect(await confinement.verdict({ code: 125, signal: null, stderr: "" })).toBe("sandbox_crash");
  expect(await confinement.verdict({ code: 152, signal: null, stderr: "" })).toBe("timeout");
  expect(await confinement.verdict({ code: 1, signal: null, stderr: "" })).toBeUndefined();
  await docker.close();
});
