// One third-party server; official.long.test.ts calls every tool of three servers.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { officialServer, startBridge } from "./start-bridge.suite.ts";

test("the official filesystem server reads a file through the bridge, within its configured folder", async () => {
  const folder = await mkdtemp(join(tmpdir(), "a2e-mcp-"));
  try {
    await writeFile(join(folder, "a.txt"), "one\ntwo\n");
    await using bridge = await startBridge({ files: { cmd: officialServer("filesystem", folder) } });
    await bridge.status("files", "ready");

    const read = await bridge.call("files__read_text_file", { path: join(folder, "a.txt") });
    const outside = await bridge.call("files__read_text_file", { path: "/etc/hostname" });

    expect(JSON.stringify(read.data)).toContain("two");
    expect(outside).toMatchObject({ success: false, error: expect.stringContaining("denied") });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
