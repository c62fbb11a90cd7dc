import { createPublicKey } from "node:crypto";
// Software by others, which has no door for a single proof.
import { verifyCheckpoint } from "@sigstore/verify/dist/tlog/checkpoint.js";
import { verifyMerkleInclusion } from "@sigstore/verify/dist/tlog/merkle.js";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { fromBase64 } from "../proofs/base64.ts";
import { parseNote } from "../proofs/note.ts";
import { checkProof, formatProof, parseProof, type TlogProof } from "../proofs/tlog-proof.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { linesOf } from "./audit-block.ts";
import { createNoteSigner } from "./note-key.ts";
import { proveRequest } from "./prove.ts";
import { sha256 } from "./tree.ts";
import { testLine, testSigner, writeLog } from "./written-log.suite.ts";

const newPath = useTemporaryFolder();
const { verify } = testSigner;

/** Checks a proof and its checkpoint with the verifier of Sigstore. */
function isAcceptedBySigstore(text: string): boolean {
  const { entry, index, path, checkpoint } = parseProof(text) as TlogProof;
  const [name = "", hint = "", key = ""] = testSigner.verifierKey.split(/\+(?=[0-9a-f]{8}\+)|(?<=\+[0-9a-f]{8})\+/);
  const raw = Buffer.from(fromBase64(key) as Uint8Array).subarray(1);
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  const authority = {
    baseURL: name,
    logID: Buffer.from(hint, "hex"),
    publicKey: createPublicKey({ key: der, format: "der", type: "spki" }),
    validFor: { start: new Date(0), end: new Date() },
  };
  const logged = {
    canonicalizedBody: Buffer.from(entry),
    inclusionProof: {
      logIndex: String(index),
      hashes: path.map((hash) => Buffer.from(hash)),
      checkpoint: { envelope: checkpoint },
    },
  } as unknown as Parameters<typeof verifyMerkleInclusion>[0];
  try {
    verifyMerkleInclusion(logged, verifyCheckpoint(logged, [authority]));
    return true;
  } catch {
    return false;
  }
}

test("the verifier of Sigstore accepts the proofs of a log, and refuses forged ones", async () => {
  const folder = newPath();
  await writeLog(folder, 700, [300]);
  for (let index = 0; index < 700; index += 23) {
    const { proof } = proveRequest(folder, verify, `r-${index}`) ?? { proof: "" };
    const parsed = parseProof(proof) as TlogProof;
    expect(isAcceptedBySigstore(proof)).toBe(true);
    const path = parsed.path.map((hash, at) => (at === index % parsed.path.length ? sha256(hash) : hash));
    const forged: Partial<TlogProof>[] = [
      { entry: Buffer.from(testLine(index + 1)) },
      { index: (index + 1) % 700 },
      { path },
      { path: parsed.path.slice(1) },
      { checkpoint: parsed.checkpoint.replace("\n700\n", "\n701\n") },
    ];
    for (const change of forged) {
      const text = formatProof({ ...parsed, ...change });
      expect(isAcceptedBySigstore(text), JSON.stringify(change)).toBe(false);
      expect(checkProof(text, sha256, verify).isValid, JSON.stringify(change)).toBe(false);
    }
  }
});

test("a proof file is checked with nothing but the key, and has the whole block", async () => {
  const folder = newPath();
  await writeLog(folder, 300);
  const proven = proveRequest(folder, verify, "r-270");
  expect(proven).toMatchObject({ index: 270, line: testLine(270).trim() });
  const checked = checkProof(proven?.proof ?? "", sha256, verify);
  expect(checked).toMatchObject({ isValid: true, index: 270, checkpoint: { size: 300, origin: testSigner.name } });
  expect(checked.isValid && linesOf(checked.entry)).toEqual([testLine(270).trim()]);
  const otherKey = createNoteSigner(testSigner.name, Buffer.alloc(32)).verify;
  expect(checkProof(proven?.proof ?? "", sha256, otherKey)).toEqual({
    isValid: false,
    reason: "the checkpoint in the file is not signed with this key",
  });
});

test("a proof that was made before the log grew and was pruned stays valid", async () => {
  const folder = newPath();
  await writeLog(folder, 300);
  const { proof } = proveRequest(folder, verify, "r-5") ?? { proof: "" };
  await (await writeLog(folder, 800)).prune(512);
  expect(checkProof(proof, sha256, verify).isValid).toBe(true);
  expect(proveRequest(folder, verify, "r-5")).toBeUndefined();
  expect(checkProof(proveRequest(folder, verify, "r-600")?.proof ?? "", sha256, verify).isValid).toBe(true);
});

test("the newest entry with an id is proven, or the newest of a session", async () => {
  const folder = newPath();
  const writer = await writeLog(folder, 0);
  for (const session of ["a", "b"]) {
    writer.append(Buffer.from(`{"ts":1.000,"session_id":"${session}","req_id":"\\u2028\\"x"}\n`));
  }
  await writer.sign();
  expect(proveRequest(folder, verify, '\u2028"x')).toMatchObject({ index: 1 });
  expect(proveRequest(folder, verify, '\u2028"x', ({ session_id }) => session_id === "a")).toMatchObject({ index: 0 });
  expect(proveRequest(folder, verify, "x")).toBeUndefined();
});

test("text that is not a proof is refused without an exception", async () => {
  const folder = newPath();
  await writeLog(folder, 20);
  const { proof } = proveRequest(folder, verify, "r-7") ?? { proof: "" };
  fc.assert(
    fc.property(fc.nat(proof.length), fc.nat(20), fc.string({ unit: "binary", maxLength: 20 }), (at, count, text) => {
      const changed = proof.slice(0, at) + text + proof.slice(at + count);
      const result = checkProof(changed, sha256, verify);
      // Further signatures and extra line ends are not part of the proof.
      if (result.isValid) expect(Buffer.from(result.entry).toString()).toBe(testLine(7));
    }),
    { numRuns: 500 },
  );
  expect(checkProof("", sha256, verify).isValid).toBe(false);
});

test("hostile notes are refused: controls, lone surrogates, spaces in names, cut or repeated parts", () => {
  const note = testSigner.sign("origin\n5\nAAAA\n");
  expect(parseNote(note)?.text).toBe("origin\n5\nAAAA\n");
  for (const hostile of [
    "",
    "\n",
    "\n\n",
    note.slice(0, -1),
    `${note}\n`,
    `${note}more\n`,
    note.replace("origin", "ori\0gin"),
    note.replace("origin", "ori\rgin"),
    note.replace("origin", "ori\ud800gin"),
    note.replace("\u2014 ", "\u2014  "),
    note.replace("\u2014", "-"),
    note.replace("host.example/audit", "a+b"),
    note.replace("host.example/audit", ""),
    note.replace(/ \S+\n$/, " AAAA\n"),
    `${note}${"\u2014 x AAAAAAAA\n".repeat(200)}`,
    `${"x".repeat(1_000_001)}\n\n${note}`,
  ])
    expect(parseNote(hostile), JSON.stringify(hostile).slice(0, 80)).toBeUndefined();
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void parseNote(text)));
});
