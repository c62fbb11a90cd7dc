// Our host at the other end of a pipe.
import { serveStdio } from "../../src/transports/stdio.ts";
import { startEchoHost } from "./echo-host.ts";

const { host, close } = await startEchoHost();
await serveStdio(host.sessions.create(), { input: process.stdin, output: process.stdout, limits: host.limits });
await close();
process.exit();
