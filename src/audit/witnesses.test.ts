import { createHash, createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { LogFields, Logger } from "../plugin/logger.ts";
import { fromBase64 } from "../proofs/base64.ts";
import { type Checkpoint, openCheckpoint } from "../proofs/checkpoint-text.ts";
import { isConsistent } from "../proofs/merkle.ts";
import { formatSignature, parseNote } from "../proofs/note.ts";
import { useTemporaryFolder } from "../stores/temporary-folder.suite.ts";
import { LogWriter } from "./log-writer.ts";
import { TileFolder } from "./tiles.ts";
import { sha256 } from "./tree.ts";
import { WitnessClient } from "./witness-client.ts";
import { Witnesses } from "./witnesses.ts";
import { testLine, testSigner, writeLog } from "./written-log.suite.ts";

const newPath = useTemporaryFolder();

/** A witness as c2sp.org/tlog-witness describes it. */
class Witness {
  latest: Checkpoint | undefined;
  readonly statuses: number[] = [];
  /** Answers instead of the witness. */
  answer: { status: number; body: string } | undefined;

  add(body: string): { status: number; body: string } {
    const result = this.answer ?? this.#add(body);
    this.statuses.push(result.status);
    return result;
  }

  #add(body: string): { status: number; body: string } {
    const split = body.indexOf("\n\n");
    const [oldLine = "", ...proofLines] = body.slice(0, split).split("\n");
    const note = body.slice(split + 2);
    const old = Number(/^old (0|[1-9]\d*)$/.exec(oldLine)?.[1] ?? Number.NaN);
    const proof = proofLines.map(fromBase64);
    if (Number.isNaN(old) || proof.length > 63 || proof.includes(undefined)) return { status: 400, body: "" };
    const checkpoint = openCheckpoint(note, testSigner.verify);
    if (checkpoint === undefined) return { status: 403, body: "" };
    if (old > checkpoint.size) return { status: 400, body: "" };
    const known = this.latest?.size ?? 0;
    if (old !== known) return { status: 409, body: `${known}\n` };
    const before = this.latest ?? { size: 0, root: new Uint8Array(0) };
    if (old === checkpoint.size && old > 0 && !Buffer.from(before.root).equals(checkpoint.root))
      return { status: 409, body: `${known}\n` };
    if (!isConsistent(sha256, before, checkpoint, proof as Uint8Array[])) return { status: 422, body: "" };
    this.latest = checkpoint;
    return { status: 200, body: cosign(note) };
  }
}

/** A cosignature (c2sp.org/tlog-cosignature): a time, and a signature of it and the checkpoint. */
function cosign(note: string): string {
  const seed = createHash("sha256").update("witness").digest();
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
  const time = Buffer.alloc(8);
  time.writeBigUInt64BE(1_700_000_000n);
  const message = `cosignature/v1\ntime 1700000000\n${parseNote(note)?.text}`;
  const signature = sign(null, Buffer.from(message), createPrivateKey({ key: der, format: "der", type: "pkcs8" }));
  return formatSignature({
    name: "witness",
    keyId: Buffer.from("0badcafe", "hex"),
    signature: Buffer.concat([time, signature]),
  });
}

async function startWitness(witness = new Witness()) {
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk as string;
    const isKnown = request.method === "POST" && request.url === "/log/add-checkpoint";
    const answer = isKnown ? witness.add(body) : { status: 404, body: "" };
    response.writeHead(answer.status, { connection: "close" }).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { witness, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/log/` };
}

function collectLogs() {
  const entries: [string, LogFields | undefined][] = [];
  const add = (message: string, fields?: LogFields) => void entries.push([message, fields]);
  return { entries, log: { info: add, warn: add, error: add } satisfies Logger };
}

/** Signs the log at this size, and waits until the witnesses have answered. */
async function grow(path: string, size: number, witnesses: Witnesses): Promise<string> {
  const { note } = (await writeLog(path, size)).signed;
  witnesses.submit(note, size);
  await witnesses.close();
  return note;
}

test("each checkpoint is cosigned with a proof that it continues the one before", async () => {
  const { witness, url } = await startWitness();
  const path = newPath();
  const { log, entries } = collectLogs();
  const witnesses = new Witnesses({ urls: [url], folder: new TileFolder(path), log });
  let note = "";
  for (const size of [1, 5, 256, 700, 700]) note = await grow(path, size, witnesses);
  expect(witness.statuses).toEqual([200, 200, 200, 200, 200]);
  expect(entries).toEqual([]);
  const witnessed = readFileSync(join(path, "witnessed"), "utf8");
  expect(witnessed).toBe(note + cosign(note));
  expect(openCheckpoint(witnessed, testSigner.verify)).toMatchObject({ size: 700 });
});

test("after a restart the host learns from the witness which checkpoint it has", async () => {
  const { witness, url } = await startWitness();
  const path = newPath();
  const { log, entries } = collectLogs();
  const open = () => new Witnesses({ urls: [url], folder: new TileFolder(path), log });
  await grow(path, 5, open());
  await grow(path, 300, open());
  expect(witness.statuses).toEqual([200, 409, 200]);
  expect(witness.latest?.size).toBe(300);
  expect(entries).toEqual([]);
});

test("a log that was rolled back or rewritten gets no cosignature, and the operator learns it", async () => {
  const { witness, url } = await startWitness();
  const path = newPath();
  const { log, entries } = collectLogs();
  await grow(path, 50, new Witnesses({ urls: [url], folder: new TileFolder(path), log }));

  const shorter = newPath();
  await grow(shorter, 20, new Witnesses({ urls: [url], folder: new TileFolder(shorter), log }));
  expect(entries.at(-1)).toMatchObject([expect.stringContaining("rolled back"), { size: 20, witnessed: 50 }]);

  const forked = newPath();
  const writer = new LogWriter(new TileFolder(forked), testSigner);
  for (let index = 0; index < 60; index++) writer.append(Buffer.from(testLine(1000 + index)));
  await writer.sign();
  const witnesses = new Witnesses({ urls: [url], folder: new TileFolder(forked), log });
  witnesses.submit(writer.signed.note, 60);
  await witnesses.close();
  expect(entries.at(-1)).toMatchObject(["a witness did not cosign", { reason: expect.stringContaining("422") }]);
  expect(witness.latest?.size).toBe(50);
});

test("a witness that is away or answers nonsense is reported once, and tried again", async () => {
  const { witness, url } = await startWitness();
  const path = newPath();
  const { log, entries } = collectLogs();
  const witnesses = new Witnesses({ urls: [url, "http://127.0.0.1:1/"], folder: new TileFolder(path), log });
  for (const [index, answer] of [
    { status: 500, body: "x" },
    { status: 200, body: "" },
    { status: 200, body: "not a signature\n" },
    { status: 409, body: "nonsense" },
    { status: 200, body: "x".repeat(100_000) },
  ].entries()) {
    witness.answer = answer;
    await grow(path, index + 1, witnesses);
  }
  const warnings = entries.filter(([message]) => message === "a witness did not cosign");
  expect(warnings).toHaveLength(2);
  witness.answer = undefined;
  const note = await grow(path, 10, witnesses);
  expect(readFileSync(join(path, "witnessed"), "utf8")).toBe(note + cosign(note));
});

test("a witness that does not answer in time is a failure", async () => {
  const client = new WitnessClient({
    url: "http://witness.example",
    proveConsistency: () => [],
    timeoutMs: 1,
    send: (_url, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener("abort", () => reject(new Error("too late")))),
  });
  expect(await client.cosign("note", 1)).toEqual({ kind: "failed", reason: "too late" });
});
