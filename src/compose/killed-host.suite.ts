// A host in a process of its own that is killed and started again on the same data and port.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll } from "vitest";

export interface KilledHost {
  /** Its data. */
  readonly folder: string;
  readonly port: number;
  /** Kills the host now, runs `meanwhile`, and starts it again. */
  restart(meanwhile?: () => Promise<void>): Promise<void>;
  /** The same at some moment within the next tenths of a second. */
  restartSoon(): Promise<void>;
  /** Kills it for good. */
  end(): Promise<void>;
}

/**
 * `file` is the program of the host, beside this one: it is given a folder, a port and the number of earlier kills,
 * and sends its port when it is up.
 */
export function useKilledHost(file: string): () => Promise<KilledHost> {
  // Next to the sources, so that the packages it leaves out are found from there.
  const script = join(import.meta.dirname, `../../node_modules/.${file}-${process.pid}.mjs`);
  beforeAll(async () => {
    await build({
      entryPoints: [join(import.meta.dirname, file)],
      bundle: true,
      platform: "node",
      format: "esm",
      packages: "external",
      outfile: script,
    });
  });
  afterAll(() => rm(script, { force: true }));

  return async () => {
    const folder = await mkdtemp(join(tmpdir(), "a2e-killed-"));
    const random = seeded(20_261_115);
    let kills = 0;
    let { child, port } = await startProcess(script, [folder, 0, kills]);
    const restart: KilledHost["restart"] = async (meanwhile) => {
      await killProcess(child);
      await meanwhile?.();
      kills += 1;
      ({ child, port } = await startProcess(script, [folder, port, kills]));
    };
    return {
      folder,
      port,
      restart,
      async restartSoon() {
        await new Promise((resolve) => setTimeout(resolve, 20 + random() * 150));
        await restart();
      },
      async end() {
        await killProcess(child);
        await rm(folder, { recursive: true, force: true });
      },
    };
  };
}

async function startProcess(script: string, args: readonly (string | number)[]) {
  const child = fork(script, args.map(String), { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  const ended = once(child, "exit").then(([code]) => Promise.reject(new Error(`the host ended at once, with ${code}`)));
  const [message] = (await Promise.race([once(child, "message"), ended])) as [{ port: number }];
  // It is killed later on.
  ended.catch(() => {});
  return { child, port: message.port };
}

async function killProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

/** The same moments in every run, as far as the machine allows. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
