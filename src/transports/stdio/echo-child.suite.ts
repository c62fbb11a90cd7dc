// A host in a process of its own, for the tests of the subprocess transport.
import { startEchoHost } from "../echo-host.suite.ts";
import { openStandardInput } from "./standard-input.ts";
import { serveStdio } from "./stdio.ts";

const host = await startEchoHost({
  die: () => {
    process.stderr.write("I was told to die\n");
    process.exit(7);
  },
});
await serveStdio(host.sessions.create(), { input: openStandardInput(), output: process.stdout, limits: host.limits });
await host.close(0);
