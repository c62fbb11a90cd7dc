// A host that runs a container and is killed. Says which label its containers carry.
import { spawn } from "node:child_process";
import { defaultDockerImage, defaultSandboxLimits as defaults } from "../../host/config/sandbox.ts";
import { openDocker } from "./probe.ts";

const { sandbox, explanation } = await openDocker({ defaults, image: defaultDockerImage });
if (sandbox === undefined) throw new Error(explanation);
const command = { argv: ["sleep", "600"] as const, cwd: "/tmp", env: {} };
const { file, args, cwd, env } = await sandbox.confine(command, { network: false, limits: {} });
spawn(file, args, { cwd, env, stdio: "ignore", detached: true });
process.stdout.write(`${args[args.indexOf("--label") + 1]}\n`);
