import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { OutputRing } from "./output/output-ring.ts";
import { readOutput } from "./output/read-output.ts";
import { dataOf, startProc } from "./proc-host.suite.ts";

/** Characters of one to four bytes. */
const character = fc.constantFrom("a", "\0", "é", "€", "\u2028", "😀", "\u{10ffff}");

const bytesOf = (chunk: { text?: unknown; base64?: unknown }) =>
  typeof chunk.base64 === "string" ? Buffer.from(chunk.base64, "base64") : Buffer.from(String(chunk.text));

test("characters are never cut, however slowly their bytes arrive", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh(
    'for b in 303 251 342 202 254 360 237 230 200; do printf "\\\\$b"; sleep 0.02; done',
  );
  await host.end(proc_id);
  const texts = host.events.map((event) => dataOf(event).text).filter((text) => text !== undefined);

  expect(texts.join("")).toBe("é€😀");
  for (const text of texts) expect(["é", "€", "😀", "é€", "€😀", "é€😀"]).toContain(text);
  expect(host.events.some((event) => dataOf(event).base64 !== undefined)).toBe(false);
});

test("bytes that are not text arrive exactly", async () => {
  await using host = await startProc();
  const bytes = Buffer.from(Array.from({ length: 1024 }, (_, index) => (index * 37) & 0xff));
  await writeFile(join(host.folder, "bytes"), bytes);
  const { proc_id } = await host.run(["cat", "bytes"]);
  await host.end(proc_id);
  const output = host.events.filter(({ kind }) => kind === "log").map((event) => bytesOf(dataOf(event)));
  const { chunks } = await host.api.read({ proc_id });

  expect(Buffer.concat(output)).toEqual(bytes);
  expect(Buffer.concat(chunks.map(bytesOf))).toEqual(bytes);
});

test("an incomplete character is sent at the end", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("printf 'a\\342\\202'");
  await host.end(proc_id);

  expect(
    host.events.map((event) => [dataOf(event).text, dataOf(event).base64, dataOf(event).offset]).slice(0, 2),
  ).toEqual([
    ["a", undefined, 0],
    ["", Buffer.from([0xe2, 0x82]).toString("base64"), 1],
  ]);
});

test("output is read from any offset, from one stream or both", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("printf one; sleep 0.05; printf two >&2; sleep 0.05; printf three");
  await host.end(proc_id);
  const read = async (request: object) => {
    const { chunks, next_cursor, eof, missed } = await host.api.read({ proc_id, ...request });
    return [chunks.map(({ stream_type, offset, text }) => [stream_type, offset, text]), next_cursor, eof, missed];
  };

  const all = [
    ["stdout", 0, "one"],
    ["stderr", 0, "two"],
    ["stdout", 3, "three"],
  ];
  expect(await read({})).toEqual([all, 11, true, 0]);
  expect(await read({ cursor: 2, max_bytes: 5 })).toEqual([
    [
      ["stdout", 2, "e"],
      ["stderr", 0, "two"],
      ["stdout", 3, "t"],
    ],
    7,
    false,
    0,
  ]);
  expect(await read({ stream: "stderr", cursor: 1 })).toEqual([[["stderr", 1, "wo"]], 3, true, 0]);
  expect(await read({ stream: "stdout", cursor: 3 })).toEqual([[["stdout", 3, "three"]], 8, true, 0]);
  expect(await read({ cursor: 999 })).toEqual([[], 11, true, 0]);
});

test("a reader whose offset is gone learns how much it missed", async () => {
  await using host = await startProc({ ring_bytes: 1024 });
  const { proc_id } = await host.sh("seq 1 2000");
  await host.end(proc_id);
  const whole = Array.from({ length: 2000 }, (_, index) => `${index + 1}\n`).join("");
  const { chunks, missed, next_cursor, eof } = await host.api.read({ proc_id, cursor: 10 });

  expect(missed).toBe(whole.length - 1024 - 10);
  expect(chunks.map(({ text }) => text).join("")).toBe(whole.slice(-1024));
  expect([next_cursor, eof]).toEqual([whole.length, true]);
});

test("a read waits for output, for the end, or for wait_ms", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["cat"], { events: false });
  const waiting = host.api.read({ proc_id, wait_ms: 10_000 });
  await host.api.write({ proc_id, data: "hello" });

  expect((await waiting).chunks[0]?.text).toBe("hello");
  expect(await host.api.read({ proc_id, cursor: 5, wait_ms: 20 })).toMatchObject({
    chunks: [],
    eof: false,
    next_cursor: 5,
  });
  const end = host.api.read({ proc_id, cursor: 5, wait_ms: 10_000 });
  await host.api.write({ proc_id, eof: true });
  expect(await end).toMatchObject({ chunks: [], eof: true, exit_code: 0, status: "completed" });
  expect(host.events).toEqual([]);
});

test("waiting reads do not prevent an agent from ending the process", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["sleep", "300"]);
  const reads = Array.from({ length: 8 }, () => host.api.read({ proc_id, wait_ms: 60_000 }));
  await host.api.kill({ proc_id, signal: "SIGKILL" });

  for (const { eof } of await Promise.all(reads)) expect(eof).toBe(true);
});

test("an agent that reconnects continues from its cursor and gets every byte once", async () => {
  await using host = await startProc();
  const { proc_id } = await host.sh("for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.02; done");
  await host.event(() => host.textOf(proc_id).includes("line 2"));
  const seen = host.textOf(proc_id);
  const again = await host.connect({ sessionId: host.client.sessionId, agentId: "tester" });
  let text = seen;
  for (let cursor = seen.length, eof = false; !eof; ) {
    const read = await again.proc.read({ proc_id, cursor, wait_ms: 60_000 });
    text += read.chunks.map((chunk) => chunk.text).join("");
    ({ next_cursor: cursor, eof } = read);
  }

  expect(text).toBe(Array.from({ length: 8 }, (_, index) => `line ${index + 1}\n`).join(""));
});

test("reads of any size add up to the whole output and cut no character", () => {
  const write = fc.tuple(
    fc.constantFrom("stdout" as const, "stderr" as const),
    fc.string({ unit: character, maxLength: 12 }),
  );
  fc.assert(
    fc.property(fc.array(write, { maxLength: 20 }), fc.integer({ min: 1, max: 9 }), (writes, max_bytes) => {
      const ring = new OutputRing({ maxBytes: 4096, maxSegments: 100 });
      const written = { stdout: "", stderr: "" };
      for (const [stream, text] of writes) {
        written[stream] += text;
        ring.append(stream, Buffer.from(text));
      }
      for (const stream of ["all", "stdout", "stderr"] as const) {
        const read = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
        for (let cursor = 0; cursor < ring.endOf(stream); ) {
          const output = readOutput(ring, { stream, cursor, max_bytes }, true);
          for (const chunk of output.chunks) read[chunk.stream_type].push(bytesOf(chunk));
          if (max_bytes >= 4 && stream !== "all")
            for (const { base64 } of output.chunks) expect(base64).toBeUndefined();
          expect(output.next_cursor).toBeGreaterThan(cursor);
          cursor = output.next_cursor;
        }
        for (const one of ["stdout", "stderr"] as const)
          if (stream === "all" || stream === one) expect(Buffer.concat(read[one]).toString()).toBe(written[one]);
      }
    }),
  );
});

test("input that a process does not read is rejected beyond a limit, and does not fill the host's memory", async () => {
  await using host = await startProc();
  const { proc_id } = await host.run(["sleep", "300"]);
  const data = "x".repeat(512 * 1024);
  const answers = [];
  for (let count = 0; count < 8; count++) answers.push(await host.api.write({ proc_id, data }));

  expect(answers[0]?.ok).toBe(true);
  expect(answers.at(-1)).toMatchObject({ ok: false, bytes: 0, error: expect.stringContaining("not read") });
  expect(answers.filter(({ ok }) => ok).length).toBeLessThan(5);
});
