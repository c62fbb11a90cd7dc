// A host in a process of its own that is killed and started again on the same data and port.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll } from "vitest";

export interface KilledHost {
  readonly port: number;
  /** Kills it at some moment within the next tenths of a second, and starts it again. */
  killSoon(): Promise<void>;
  killNow(): Promise<void>;
  end(): Promise<void>;
}

/** For all tests of a file: they may not run at the same time. */
export function useKilledHost(): () => Promise<KilledHost> {
  let folder = "";
  let script = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "a2e-crash-"));
    // Next to the sources, so that the packages it leaves out are found from there.
    script = join(import.meta.dirname, `../../node_modules/.crash-host-${process.pid}.mjs`);
    await build({
      entryPoints: [join(import.meta.dirname, "crash-host.suite.ts")],
      bundle: true,
      platform: "node",
      format: "esm",
      packages: "external",
      outfile: script,
    });
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await rm(script, { force: true });
  });

  const start = async (port: number): Promise<{ child: ChildProcess; port: number }> => {
    const child = fork(script, [folder, String(port)], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const [message] = (await once(child, "message")) as [{ port: number }];
    return { child, port: message.port };
  };

  return async () => {
    const random = seeded(20_261_115);
    let host = await start(0);
    const end = async () => {
      host.child.kill("SIGKILL");
      if (host.child.exitCode === null && host.child.signalCode === null) await once(host.child, "exit");
    };
    const killNow = async () => {
      await end();
      host = await start(host.port);
    };
    return {
      port: host.port,
      killNow,
      async killSoon() {
        await new Promise((resolve) => setTimeout(resolve, 20 + random() * 150));
        await killNow();
      },
      end,
    };
  };
}

/** The same moments in every run, as far as the machine allows. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
