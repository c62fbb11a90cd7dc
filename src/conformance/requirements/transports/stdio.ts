// A host as a child process: lines on stdin, lines on stdout, and an exit on request.
import { check, checkEqual, checkType } from "../../check.ts";
import { shakeHands } from "../../context.ts";
import type { Requirement } from "../../requirement.ts";

const transports = ["stdio"] as const;

/** The time that a stopping process may take before it counts as hanging. */
const exitMs = 8_000;

export const stdio: readonly Requirement[] = [
  {
    id: "STDIO-1",
    title: "stdout carries only NDJSON",
    source: "wire facts C18",
    level: "must",
    transports,
    review({ received }) {
      for (const { line, message } of received) check(message !== undefined, `on stdout: ${line.slice(0, 200)}`);
    },
  },
  {
    id: "STDIO-2",
    title: "stderr stays nearly silent: a parent that never reads it must not block the host",
    source: "wire facts 3.13 (stderr piped and never read)",
    level: "must",
    transports,
    review({ children }) {
      for (const { stderrBytes } of children) check(stderrBytes < 16_384, `${stderrBytes} bytes on stderr`);
    },
  },
  {
    id: "STDIO-3",
    title: "a stream cut at every byte, inside characters too, is read whole",
    source: "framing survives any cut",
    level: "must",
    transports,
    async run({ agent }) {
      const peer = await agent();
      const id = `é😀 ${peer.nextId()}`;
      const bytes = Buffer.from(`${peer.line("ping", { id })}\r\n\n${peer.line("ping", { id: `${id} 2` })}\n`);
      await peer.link.writePieces?.(Array.from(bytes, (byte) => Uint8Array.of(byte)));
      checkType(await peer.answerTo(id), "pong");
      checkType(await peer.answerTo(`${id} 2`), "pong");
    },
  },
  {
    id: "STDIO-4",
    title: "the end of input is a goodbye: pending requests are answered, and the host exits with exit code 0",
    source: "subprocess transport tests",
    level: "must",
    transports,
    async run({ spawn, token }) {
      const peer = await spawn();
      await shakeHands(peer, token);
      const line = peer.line("tool/list/req", { id: "last" });
      // Without a newline: the end of input ends the line as well.
      await peer.link.writePieces?.([Buffer.from(line)]);
      peer.link.endInput();
      checkType(await peer.answerTo("last"), "tool/list/resp");
      checkEqual(await peer.link.exited(exitMs), 0, "exit code");
    },
  },
  {
    id: "STDIO-5",
    title: "the end of input lets a call in flight finish",
    source: "wire facts C17",
    level: "should",
    transports,
    needs: { tools: ["conformance_wait"] },
    async run({ spawn, token }) {
      const peer = await spawn();
      await shakeHands(peer, token);
      const id = peer.post("tool/call/req", { tool_name: "conformance_wait", arguments: { ms: 300 } });
      await peer.request("ping");
      peer.link.endInput();
      checkType(await peer.answerTo(id), "tool/call/resp");
    },
  },
  {
    id: "STDIO-6",
    title: "SIGTERM ends the host",
    source: "subprocess transport tests",
    level: "must",
    transports,
    async run({ spawn, token }) {
      const peer = await spawn();
      await shakeHands(peer, token);
      peer.link.kill("SIGTERM");
      check((await peer.link.exited(exitMs)) !== undefined, "the host should be gone");
    },
  },
  {
    id: "STDIO-7",
    title: "a shutdown ends the host with exit code 0",
    source: "wire facts C17",
    level: "must",
    transports,
    async run({ spawn, token }) {
      const peer = await spawn();
      await shakeHands(peer, token);
      peer.post("shutdown", { timeout: 1 });
      checkEqual(await peer.link.exited(exitMs), 0, "exit code");
    },
  },
  {
    id: "STDIO-8",
    title: "lines sent before the host was up are all answered, in order",
    source: "subprocess transport tests",
    level: "must",
    transports,
    async run({ spawn, token }) {
      const peer = await spawn();
      const ids = Array.from({ length: 10 }, () => peer.post("ping"));
      await shakeHands(peer, token);
      checkEqual(
        peer.received.filter(({ type }) => type === "pong").map(({ req_id }) => req_id),
        ids,
        "answers",
      );
    },
  },
];
