// Processes beyond the protocol: reading by a cursor, terminals, processes that outlive their session.
import type { Message } from "../../../protocol/envelope.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType } from "../../check.ts";
import { sharedHost } from "../../link.ts";
import type { Requirement } from "../../requirement.ts";
import { startProcess } from "./processes.ts";

const common = { needs: { capability: "proc" }, level: "extension" } as const;

function chunksOf(answer: Message): unknown[][] {
  return asArray(checkType(answer, "proc/read/resp").chunks, "chunks").map((entry) => {
    const { stream_type, offset, text } = asObject(entry, "chunks[]");
    return [stream_type, offset, text];
  });
}

export const procExtensions: readonly Requirement[] = [
  {
    ...common,
    id: "PROC-17",
    title: "output is read from a byte offset, of either stream or of both, any number of times",
    source: "extension: proc/read/req",
    async run({ agent }) {
      const peer = await agent();
      const process = await startProcess(peer, ["sh", "-c", "printf one; sleep 0.2; printf two >&2"], {
        events: false,
      });
      let answer = await process.request("proc/read/req", { wait_ms: 10_000, cursor: 6 });
      while (answer.eof !== true) answer = await process.request("proc/read/req", { wait_ms: 10_000, cursor: 6 });
      checkEqual([answer.next_cursor, answer.exit_code, answer.state], [6, 0, "stopped"], "the end");
      for (const type of ["proc/read/req", "proc/read"])
        checkEqual(
          chunksOf(await process.request(type)),
          [
            ["stdout", 0, "one"],
            ["stderr", 0, "two"],
          ],
          "all of it",
        );
      const part = await process.request("proc/read/req", { cursor: 1, max_bytes: 4 });
      checkEqual(
        chunksOf(part),
        [
          ["stdout", 1, "ne"],
          ["stderr", 0, "tw"],
        ],
        "a part",
      );
      checkEqual([part.next_cursor, part.eof], [5, false], "next_cursor and eof of a part");
      const errors = await process.request("proc/read/req", { stream: "stderr", cursor: 2 });
      checkEqual(chunksOf(errors), [["stderr", 2, "o"]], "stderr alone");
      checkEqual(process.events(), [], "events that nobody asked for");
      checkError(await peer.request("proc/read/req", { proc_id: "conformance-nobody" }), "unknown_proc");
    },
  },
  {
    ...common,
    id: "PROC-18",
    title: "a read waits for output, and a kill gets through while reads wait",
    source: "extension: proc/read/req wait_ms",
    async run({ agent, survey }) {
      const process = await startProcess(await agent(), ["cat"]);
      const waiting = process.request("proc/read/req", { wait_ms: 20_000 });
      await process.request("proc/write/req", { data: "hello" });
      checkEqual(chunksOf(await waiting), [["stdout", 0, "hello"]], "what came");
      const reads = Array.from({ length: survey.maxParallel + 1 }, () =>
        process.request("proc/read/req", { cursor: 5, wait_ms: 20_000 }),
      );
      await process.request("proc/kill/req", { signal: "SIGKILL" });
      for (const { eof, signal } of await Promise.all(reads)) checkEqual([eof, signal], [true, "SIGKILL"], "the end");
    },
  },
  {
    ...common,
    id: "PROC-19",
    title: "a process on a terminal sees its size and each resize, and its last output is not lost",
    source: "extension: pty, proc/resize/req",
    async run({ agent }) {
      const peer = await agent();
      const script = "test -t 1 && stty size; read line; stty size; head -c 20000 /dev/zero | tr '\\0' x";
      const process = await startProcess(peer, ["sh", "-c", script], { pty: true, cols: 101, rows: 31 });
      await process.event(() => process.text().includes("31 101"), "output with its size");
      checkEqual((await process.request("proc/resize/req", { cols: 90, rows: 20 })).ok, true, "ok of resize");
      await process.request("proc/write/req", { data: "\n" });
      await process.end();
      const text = process.text();
      check(text.includes("20 90"), `output: expected the new size, got ${text.slice(0, 200)}`);
      checkEqual(text.length - text.replaceAll("x", "").length, 20_000, "characters of the last output");
      const plain = await startProcess(peer, ["sleep", "60"]);
      const refused = checkType(await plain.request("proc/resize/req", { cols: 90, rows: 20 }), "proc/resize/resp");
      checkEqual(refused.ok, false, "ok of resize without a terminal");
      await plain.request("proc/kill/req", { signal: "SIGKILL" });
    },
  },
  {
    ...common,
    id: "PROC-20",
    title: "a detached process outlives its session, in reach of its agent and of no other, until it is taken back",
    source: "extension: proc/detach/req, proc/attach/req",
    transports: sharedHost,
    async run({ connectAs }) {
      const first = await connectAs("conformance-detacher");
      const process = await startProcess(first, ["cat"]);
      checkEqual((await process.request("proc/detach/req")).ok, true, "ok of detach");
      await first.close();
      const proc_id = process.id;
      const stranger = await connectAs("conformance-stranger");
      checkError(await stranger.request("proc/attach/req", { proc_id }), "unknown_proc");
      const second = await connectAs("conformance-detacher");
      const attached = second.post("proc/attach/req", { proc_id, cursor: 0 });
      checkType(await second.answerTo(attached), "proc/attach/resp");
      await second.request("proc/write/req", { proc_id, data: "still here" });
      const event = await second.find(({ type }) => type === "proc/read/event", "output after the attachment");
      checkEqual([event.req_id, asObject(event.data, "data").text], [attached, "still here"], "req_id and text");
      await second.request("proc/kill/req", { proc_id, signal: "SIGKILL" });
    },
  },
];
