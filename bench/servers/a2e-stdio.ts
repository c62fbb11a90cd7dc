// Our host at the other end of a pipe.
import { openStandardInput } from "../../src/transports/stdio/standard-input.ts";
import { serveStdio } from "../../src/transports/stdio/stdio.ts";
import { startEchoHost } from "./echo-host.ts";

const { host, close } = await startEchoHost();
await serveStdio(host.sessions.create(), { input: openStandardInput(), output: process.stdout, limits: host.limits });
await close();
process.exit();
