import { PassThrough, Writable } from "node:stream";
import { expect, test } from "vitest";
import type { Message } from "../../protocol/envelope.ts";
import { startEchoHost } from "../echo-host.suite.ts";
import { serveStdio } from "./stdio.ts";

async function serve(limits: { maxLineBytes?: number; drainMs?: number } = {}) {
  const host = await startEchoHost({ isHandshakeRequired: false, limits });
  const input = new PassThrough();
  const output = new PassThrough();
  let text = "";
  output.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
  });
  const done = serveStdio(host.sessions.create(), { input, output, limits: host.limits });
  return {
    host,
    input,
    output,
    done,
    messages: () =>
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Message),
  };
}

const say = (id: string, value: object = {}) => `${JSON.stringify({ type: "echo/say/req", id, value })}\n`;

test("everything is answered before the end of input ends the session", async () => {
  const { host, input, done, messages } = await serve();
  input.end(
    `${JSON.stringify({ type: "echo/count/req", id: "slow", key: "k", events: 2 })}\n${say("quick")}${say("last").trimEnd()}`,
  );
  await done;
  const answers = messages().filter((message) => message.req_id !== undefined && message.type.endsWith("/resp"));
  expect(answers.map((message) => message.req_id).sort()).toEqual(["last", "quick", "slow"]);
  expect(messages().at(-1)?.type).toBe("session/closed");
  await host.close(0);
});

test("input may be cut inside a character", async () => {
  const { host, input, done, messages } = await serve();
  for (const byte of Buffer.from(say("é", { text: "🦜\u2028" }))) input.write(Buffer.of(byte));
  input.end();
  await done;
  expect(messages()[0]).toMatchObject({ req_id: "é", value: { text: "🦜\u2028" } });
  await host.close(0);
});

test("a line past the limit is answered with invalid_message and skipped", async () => {
  const { host, input, done, messages } = await serve({ maxLineBytes: 200 });
  input.end(say("long", { text: "x".repeat(300) }) + say("next"));
  await done;
  expect(messages().slice(0, 2)).toMatchObject([{ type: "error", code: "invalid_message" }, { req_id: "next" }]);
  await host.close(0);
});

test("a shutdown message ends the session while the input stays open", async () => {
  const { host, input, done, messages } = await serve();
  input.write('{"type":"shutdown","id":"bye","timeout":0}\n');
  await done;
  expect(messages().at(-1)).toMatchObject({ type: "session/closed", reason: "shutdown" });
  await host.close(0);
});

test("the end of input does not shorten the grace time of an earlier shutdown", async () => {
  const { host, input, done, messages } = await serve({ drainMs: 0 });
  const count = JSON.stringify({ type: "echo/count/req", id: "slow", key: "k", events: 20 });
  input.end(`${count}\n{"type":"shutdown","id":"bye","timeout":60}\n`);
  await done;
  expect(messages().find(({ req_id, type }) => req_id === "slow" && type.endsWith("/resp"))).toBeDefined();
  expect(messages().at(-1)).toMatchObject({ type: "session/closed", reason: "shutdown", cut_off: [] });
  await host.close(0);
});

test("an output that fails ends the session", async () => {
  const { host, input, output, done } = await serve();
  input.write('{"type":"echo/die/req","id":"never"}\n');
  output.destroy(new Error("EPIPE"));
  await done;
  expect(host.sessions.size).toBe(0);
  await host.close(0);
});

test("an output that fails and cannot be destroyed, as standard output cannot, ends the session once", async () => {
  const host = await startEchoHost({ isHandshakeRequired: false });
  const input = new PassThrough();
  let writes = 0;
  const output = new Writable({
    autoDestroy: false,
    emitClose: false,
    destroy: () => {},
    write(_chunk, _encoding, done) {
      writes += 1;
      done(Object.assign(new Error("EPIPE"), { code: "EPIPE" }));
    },
  });
  const done = serveStdio(host.sessions.create(), { input, output, limits: host.limits });
  input.end(say("unheard"));
  await done;
  const writesAtEnd = writes;
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  expect(writes).toBe(writesAtEnd);
  expect(host.sessions.size).toBe(0);
  await host.close(0);
});
