import { execFileSync } from "node:child_process";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type SkillHost, startSkills } from "./start-skills.suite.ts";

async function startWithFiles(): Promise<SkillHost> {
  const host = await startSkills();
  await host.add("files", "", { files: { "references/deep/a.md": "Größe: 5 €", "assets/b.bin": "BB" } });
  return host;
}

const read = (host: SkillHost, path: string, more: object = {}) => host.skills.read({ name: "files", path, ...more });

test("a file is read by its path", async () => {
  await using host = await startWithFiles();

  expect(await read(host, "references/deep/a.md")).toEqual({
    name: "files",
    skill_version: "1.0.0",
    path: "references/deep/a.md",
    encoding: "text",
    content: "Größe: 5 €",
    size: 14,
    next_offset: null,
  });
  expect(await read(host, "./assets//b.bin", { encoding: "base64" })).toMatchObject({ content: "QkI=" });
});

test("a long file is read in pieces that do not split characters", async () => {
  await using host = await startWithFiles();
  const pieces: string[] = [];
  for (let offset: number | null = 0; offset !== null; ) {
    const piece: Awaited<ReturnType<typeof read>> = await read(host, "references/deep/a.md", { offset, max_bytes: 4 });
    pieces.push(piece.content);
    offset = piece.next_offset;
  }

  expect(pieces.join("")).toBe("Größe: 5 €");
  expect(pieces.length).toBeGreaterThan(3);
});

test("bytes that are not text are rejected with a hint to read them as base64", async () => {
  await using host = await startWithFiles();
  await writeFile(host.at("project", "files", "assets", "b.bin"), Buffer.from([0xff, 0xfe, 0x00]));

  await expect(read(host, "assets/b.bin")).rejects.toThrow("read it with encoding base64");
  expect((await read(host, "assets/b.bin", { encoding: "base64" })).content).toBe("//4A");
});

test.each([
  "../secret.txt",
  "references/../../../secret.txt",
  "/etc/passwd",
  "references\\..\\..\\secret.txt",
  "",
  ".",
  "..",
  "references",
  "missing.md",
  ".git/config",
  "a\0b",
  "link.md",
  "linked/secret.txt",
  "hard/../../secret.txt",
])("%j is rejected", async (path) => {
  await using host = await startWithFiles();
  await host.write(host.at("project", "secret.txt"), "secret");
  await host.write(host.at("project", "files", ".git", "config"), "hidden");
  await symlink(host.at("project", "secret.txt"), host.at("project", "files", "link.md"));
  await symlink(host.at("project"), host.at("project", "files", "linked"));

  await expect(read(host, path)).rejects.toMatchObject({ code: "unknown_resource", retryable: false });
});

test("a pipe in place of a file does not block the host", async () => {
  await using host = await startWithFiles();
  execFileSync("mkfifo", [join(host.at("project", "files"), "pipe.md")]);

  await expect(read(host, "pipe.md")).rejects.toMatchObject({ code: "unknown_resource" });
});

test("a file is read from the version of the request", async () => {
  await using host = await startSkills();
  for (const version of ["1.0.0", "2.0.0"])
    await host.add("many", `version: ${version}`, { version, files: { "a.txt": version } });

  expect((await host.skills.read({ name: "many", path: "a.txt" })).content).toBe("2.0.0");
  expect((await host.skills.read({ name: "many@1.0.0", path: "a.txt" })).content).toBe("1.0.0");
  await expect(host.skills.read({ name: "none", path: "a.txt" })).rejects.toMatchObject({ code: "unknown_skill" });
});

test("reading a file that is larger than an answer returns the offset of the next piece", async () => {
  await using host = await startSkills();
  await host.add("large", "", { files: { "a.txt": "x".repeat(600_000) } });

  const first = await host.skills.read({ name: "large", path: "a.txt", max_bytes: 10_000_000 });
  const second = await host.skills.read({ name: "large", path: "a.txt", offset: first.next_offset ?? 0 });

  expect([first.content.length + second.content.length, second.next_offset]).toEqual([600_000, null]);
});
