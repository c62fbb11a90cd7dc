// A host with a few files in its workspace and a baseline, for the tests of this folder.
import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startEnv } from "../test-session.suite.ts";

export const sha256 = (content: string) => `sha256:${createHash("sha256").update(content).digest("hex")}`;
export const orders = "id,total\n1,9.5\n";

export async function startData(data: object = {}) {
  const holder = await startEnv();
  const { folder } = holder;
  mkdirSync(join(folder, "workspace", "deep"), { recursive: true });
  mkdirSync(join(folder, "baseline", "docs"), { recursive: true });
  writeFileSync(join(folder, "workspace", "orders.csv"), orders);
  writeFileSync(join(folder, "workspace", "deep", "image.bin"), Buffer.from([0, 255, 254, 1]));
  writeFileSync(join(folder, "baseline", "readme.txt"), "pristine");
  writeFileSync(join(folder, "baseline", "docs", "guide.txt"), "guide");
  writeFileSync(join(folder, "secret.txt"), "secret");
  const host = await startEnv({
    data: { baseline: join(folder, "baseline"), sources: [join(folder, "workspace")], ...data },
  });
  return {
    folder,
    host,
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await holder[Symbol.asyncDispose]();
    },
  };
}
