// The reference host as a child process, in the folder that its command line names. Started by tests and by
// scripts/score.ts; it is not part of the package's API.
import { serveStdio } from "../transports/stdio/stdio.ts";
import { startReferenceHost } from "./reference-host.suite.ts";

const host = await startReferenceHost(process.argv[2] ?? ".");
const session = host.sessions.create();
process.once("SIGTERM", () => void session.close("the host was told to stop", host.limits.drainMs));
await serveStdio(session, { input: process.stdin, output: process.stdout, limits: host.limits });
await host.close(0);
process.stdin.destroy();
