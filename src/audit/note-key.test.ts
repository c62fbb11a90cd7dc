import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { formatCheckpoint, openCheckpoint, parseCheckpoint } from "../proofs/checkpoint-text.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { openAuditKey, readAuditKey } from "./key-file.ts";
import { createNoteSigner, parseVerifierKey } from "./note-key.ts";

const newPath = useTemporaryFolder();

// From the package golang.org/x/mod/sumdb/note, which defined the format.
const goKey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const goText = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
const goNote = `${goText}\n\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n`;

test("a note that Go signed is verified with its key", () => {
  const key = parseVerifierKey(goKey);
  const parts = goNote.split(" ").at(-1)?.trim() ?? "";
  const bytes = Buffer.from(parts, "base64");
  const signature = { name: "PeterNeumann", keyId: bytes.subarray(0, 4), signature: bytes.subarray(4) };
  expect(key?.verify(goText, signature)).toBe(true);
  expect(key?.verify(goText.replace("answer", "reply"), signature)).toBe(false);
});

test("a signed checkpoint is opened with the verifier key of its signer and no other", () => {
  const signer = createNoteSigner("log", Buffer.alloc(32, 7));
  const note = signer.sign(formatCheckpoint({ origin: "log", size: 5, root: Buffer.alloc(32, 1) }));
  const key = parseVerifierKey(signer.verifierKey);
  expect(openCheckpoint(note, key?.verify ?? (() => false))).toMatchObject({ origin: "log", size: 5 });
  const other = createNoteSigner("log", Buffer.alloc(32, 8));
  expect(openCheckpoint(note, other.verify)).toBeUndefined();
});

test("text that is not a verifier key is refused", () => {
  const flipped = goKey.replace("c74f20a3", "c74f20a4");
  for (const text of [
    "",
    "a+b",
    "a+00000000+AAAA",
    flipped,
    `${goKey}x`,
    goKey.replace("+AR", "+BR"),
    "a b+c74f20a3+AR",
  ])
    expect(parseVerifierKey(text), text).toBeUndefined();
  expect(() => createNoteSigner("a b", Buffer.alloc(32))).toThrow("must not have spaces");
  expect(() => createNoteSigner("a", Buffer.alloc(31))).toThrow("has 32 bytes");
});

test("text that is not a checkpoint is refused", () => {
  const root = Buffer.alloc(32).toString("base64");
  expect(parseCheckpoint(`o\n5\n${root}\nextension\n`)).toMatchObject({ size: 5 });
  const hostile = ["", `\n5\n${root}\n`, `o\n05\n${root}\n`, `o\n-1\n${root}\n`, `o\n1e3\n${root}\n`, `o\n5\nAAAA\n`];
  for (const text of [...hostile, `o\n5\n${root}`, `o\n5\n${root}\n\nx\n`, `o\n99999999999999999999\n${root}\n`])
    expect(parseCheckpoint(text), text).toBeUndefined();
});

test("the key file is created once, and only its owner can read it", () => {
  const path = newPath();
  const first = openAuditKey(path, "host/audit");
  expect(first.isNew).toBe(true);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  chmodSync(path, 0o644);
  const again = openAuditKey(path, "another name");
  expect(again.isNew).toBe(false);
  expect(again.signer.verifierKey).toBe(first.signer.verifierKey);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(first.signer.verifierKey).not.toContain(readFileSync(path, "utf8").trim().split(" ")[2]);
});

test("a damaged key file is an error, and is not replaced", () => {
  const path = newPath();
  writeFileSync(path, "PRIVATE+KEY+a2e-audit host AAAA\n");
  expect(() => openAuditKey(path, "host")).toThrow("is not the key of an audit log");
  expect(readFileSync(path, "utf8")).toContain("AAAA");
  expect(readAuditKey(newPath())).toBeUndefined();
});
