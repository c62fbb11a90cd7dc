import { createDirectTransport } from "./direct.ts";
import { startEchoHost } from "./echo-host.suite.ts";
import { testTransport } from "./transport.suite.ts";

testTransport("direct", async () => {
  const counts = new Map<string, number>();
  const host = await startEchoHost({ counts, die: () => void host.close(0) });
  return {
    createTransport: () => createDirectTransport(() => host.sessions.create()),
    counted: (key) => counts.get(key),
    stop: () => host.close(0),
  };
});
