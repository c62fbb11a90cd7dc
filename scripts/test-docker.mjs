// `npm run test:docker`: the tests of the docker sandbox on a machine without a daemon. Installs docker, runs a
// separate daemon, builds the image from Debian's packages, and removes everything but the packages afterwards.
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { installWithApt } from "./setup/apt.mjs";
import { installMissing } from "./setup/install.mjs";
import { run, runTool, say } from "./setup/run-command.mjs";

const image = "node:20-bookworm";
const startTimeoutMs = 30_000;

if (process.getuid?.() !== 0 || process.platform !== "linux") {
  say("A daemon of its own needs Linux, and root. Where a daemon runs, npm test tests with it.");
  process.exit(1);
}
await installMissing();
for (const name of ["docker.io", "debootstrap"]) await installWithApt(name);

const folder = mkdtempSync(join(tmpdir(), "a2e-docker-"));
const socket = `unix://${folder}/docker.sock`;
const env = { DOCKER_HOST: socket, A2E_TEST_DOCKER: "required" };
const daemon = startDaemon();
// A daemon that cannot be started emits an error instead of exit.
const exited = new Promise((resolve) => daemon.once("exit", resolve).once("error", resolve));
let code = 1;
try {
  await isReady();
  await makeImage();
  code = await runTool("vitest/vitest.mjs", ["run", "src/sandboxes/docker", ...process.argv.slice(2)], { env });
} catch (error) {
  say(`The tests of the docker sandbox could not run: ${error instanceof Error ? error.message : error}`);
} finally {
  daemon.kill("SIGTERM");
  await exited;
  rmSync(folder, { recursive: true, force: true });
}
process.exit(code);

/** Without any network, so that the machine's own network settings are not changed. */
function startDaemon() {
  const paths = ["--data-root", `${folder}/data`, "--exec-root", `${folder}/run`, "--pidfile", `${folder}/pid`];
  const network = ["--host", socket, "--iptables=false", "--ip6tables=false", "--bridge=none"];
  const child = spawn("dockerd", [...paths, ...network, "--log-level", "error"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  child.once("error", (error) => say(`dockerd does not start: ${error.message}`));
  child.stderr.on("data", (text) => say(String(text).trimEnd()));
  return child;
}

async function isReady() {
  const deadline = Date.now() + startTimeoutMs;
  while ((await run("docker", ["version"], { env, stdout: "ignore", stderr: "ignore" })) !== 0) {
    if (daemon.pid === undefined || daemon.exitCode !== null) throw new Error("the daemon has ended");
    if (Date.now() > deadline) throw new Error(`the daemon did not answer within ${startTimeoutMs / 1000} s`);
    await sleep(200);
  }
}

/** The parts of the default sandbox image that the tests need: Debian, Node and Python. */
async function makeImage() {
  say(`Making the image ${image} from Debian's packages (takes about a minute) …`);
  const system = `${folder}/system`;
  const packages = "--include=python3,libstdc++6,libatomic1";
  await must("debootstrap", ["--variant=minbase", packages, "bookworm", system, mirror()]);
  copyFileSync(process.execPath, `${system}/usr/local/bin/node`);
  await must("sh", ["-c", 'tar -C "$0" -c . | docker import - "$1"', system, image]);
  rmSync(system, { recursive: true, force: true });
}

/**
 * @param {string} command
 * @param {string[]} args
 */
async function must(command, args) {
  if ((await run(command, args, { env, stdout: "ignore" })) !== 0) throw new Error(`${command} failed`);
}

/** The package source of this machine. */
function mirror() {
  const filters = ["--format", "$(SITE)", "Created-By: Packages", "Codename: bookworm"];
  const [site] = execFileSync("apt-get", ["indextargets", ...filters], { encoding: "utf8" }).split("\n");
  if (!site) throw new Error("this machine knows no source of packages for Debian bookworm");
  return site;
}
