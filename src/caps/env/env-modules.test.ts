import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startHost } from "../../testing/start-host.ts";
import { envPlugin } from "./plugin.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "a2e-env-modules-"));
  mkdirSync(join(folder, "envs"));
  const imports = `import { defineEnv } from ${JSON.stringify(new URL("./define-env.ts", import.meta.url).href)};
    import { discrete } from ${JSON.stringify(new URL("./spaces/discrete.ts", import.meta.url).href)};`;
  for (const name of ["first", "second"])
    writeFileSync(
      join(folder, "envs", `${name}.mjs`),
      `${imports}
      export default defineEnv({ name: "${name}", actionSpace: discrete(2), observationSpace: discrete(2),
        reset: () => 0, step: () => ({ reward: 1 }) });`,
    );
  writeFileSync(join(folder, "envs", "second.test.mjs"), "throw new Error('a test was loaded');");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test.each(["none", "worker"] as const)(
  "a folder of modules gives all of its environments (isolation %s)",
  { timeout: 60_000 },
  async (isolation) => {
    await using host = await startHost(envPlugin({ builtin: false, modules: ["envs"], base_dir: folder, isolation }));
    const { env } = host.client;

    for (const env_name of ["first", "second"]) {
      await env.reset({ env_name });
      expect((await env.step({ action: 1 })).obs.reward).toBe(1);
    }
  },
);
