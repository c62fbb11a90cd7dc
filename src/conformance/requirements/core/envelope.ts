// The shape of every message, and the deviations that a host must tolerate.
import { asObject, check, checkEqual, checkError, checkType, only } from "../../check.ts";
import type { Requirement } from "../../requirement.ts";

export const envelope: readonly Requirement[] = [
  {
    id: "ENV-1",
    title: "every message carries its type, an id, version and a2e, and a time",
    source: "wire facts C1, C2; base protocol tests",
    level: "must",
    review({ received }) {
      for (const { message } of received) {
        if (message === undefined) continue;
        check(typeof message.id === "string" && message.id !== "", `id: expected text, got ${JSON.stringify(message)}`);
        checkEqual([message.version, message.a2e], ["1.0", "1.0"], `version and a2e of ${message.type}`);
        check(typeof message.ts === "number" && message.ts > 0, `ts: expected seconds, got ${JSON.stringify(message)}`);
      }
    },
  },
  {
    id: "ENV-2",
    title: "ids are 32 hexadecimal digits",
    source: "base protocol tests",
    level: "should",
    review({ received }) {
      for (const { message } of received) {
        check(message === undefined || /^[0-9a-f]{32}$/.test(message.id), `an id is "${message?.id}"`);
      }
    },
  },
  {
    id: "ENV-3",
    title: "no two messages of a session share an id, unless one repeats the other completely",
    source: "base protocol tests",
    level: "must",
    review({ received }) {
      const seen = new Map<string, string>();
      for (const { session, line, message } of received) {
        if (message === undefined) continue;
        const key = `${session} ${message.id}`;
        const known = seen.get(key);
        check(known === undefined || known === line, `two messages have the id "${message.id}": ${known} and ${line}`);
        seen.set(key, line);
      }
    },
  },
  {
    id: "ENV-4",
    title: "output of a host is strict JSON: one object per line, no NaN, no infinity",
    source: "wire facts 3.13, C18",
    level: "must",
    review({ received }) {
      for (const { line, message } of received) check(message !== undefined, `no message: ${line.slice(0, 200)}`);
    },
  },
  {
    id: "ENV-5",
    title: "JSON is compact: no space between its tokens",
    source: "protocol page, framing",
    level: "should",
    review({ received }) {
      for (const { line } of received) {
        check(!/\s/.test(line.replace(/"(?:[^"\\]|\\.)*"/g, '""')), `white space in ${line.slice(0, 200)}`);
      }
    },
  },
  {
    id: "ENV-6",
    title: "an id is opaque: any text is returned as req_id of the answer",
    source: "wire facts C2",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      for (const id of [
        "7",
        "a1b2c3d4",
        "with space",
        "Ünïcode-✓",
        'quote"back\\slash',
        "x".repeat(64),
        "__proto__",
        "constructor",
      ]) {
        const unique = `${peer.nextId()} ${id}`;
        checkType(await peer.request("ping", { id: unique }), "pong");
      }
      checkType(await peer.request("ping", { id: "__proto__" }), "pong");
    },
  },
  {
    id: "ENV-7",
    title: "a message without id and ts is served, and answered once",
    source: "wire facts C2; base protocol tests (decode without id/ts)",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      const answers = await peer.exchange('{"type":"ping","version":"1.0"}');
      checkType(only(answers, "answer"), "pong");
    },
  },
  {
    id: "ENV-8",
    title: "version alone, a2e alone, both or neither are accepted",
    source: "wire facts C1",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      for (const fields of [{ version: "1.0" }, { a2e: "1.0" }, { version: "1.0", a2e: "1.0" }, {}]) {
        const id = peer.nextId();
        peer.send(JSON.stringify({ type: "tool/list/req", id, ...fields }));
        checkType(await peer.answerTo(id), "tool/list/resp");
      }
    },
  },
  {
    id: "ENV-9",
    title: "another minor version is compatible",
    source: "wire facts C1",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      for (const version of ["1.7", "1", "1.0.3"])
        checkType(await peer.request("tool/list/req", { version }), "tool/list/resp");
    },
  },
  {
    id: "ENV-10",
    title: "another major version is answered with version_mismatch",
    source: "wire facts C1",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      checkError(await peer.request("tool/list/req", { version: "2.0" }), "version_mismatch");
      const id = peer.nextId();
      peer.send(JSON.stringify({ type: "tool/list/req", id, a2e: "9.9" }));
      checkError(await peer.answerTo(id), "version_mismatch");
    },
  },
  {
    id: "ENV-11",
    title: "unknown fields are ignored",
    source: "wire facts 3.13 (extra fields)",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      const answer = await peer.request("tool/list/req", { skills: "1.0", extra: { deep: [1, null] }, trace_id: "x" });
      checkType(answer, "tool/list/resp");
    },
  },
  {
    id: "ENV-12",
    title: "NaN, Infinity and -Infinity, as Python writes them, are tolerated",
    source: "wire facts 3.13",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      const id = peer.nextId();
      peer.send(`{"type":"ping","id":"${id}","version":"1.0","ts":NaN,"reward":[Infinity, -Infinity,NaN]}`);
      checkType(await peer.answerTo(id), "pong");
    },
  },
  {
    id: "ENV-13",
    title: "text that merely mentions NaN or Infinity is returned unchanged, also beside a NaN token",
    source: "wire facts 3.13",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      const id = peer.nextId();
      const value = '"NaN, -Infinity and \\"Infinity\\" \\\\"';
      peer.send(
        `{"type":"tool/call/req","id":"${id}","version":"1.0","ts":NaN,"tool_name":"conformance_echo","arguments":{"value":${value}}}`,
      );
      const answer = checkType(await peer.answerTo(id), "tool/call/resp");
      checkEqual(asObject(answer.data, "data").data, JSON.parse(value), "echo");
    },
  },
  {
    id: "ENV-14",
    title: "blank lines and white space around a line are ignored",
    source: "subprocess transport tests (empty line not delivered)",
    level: "must",
    async run({ agent }) {
      const peer = await agent();
      const [one, two] = [peer.line("ping"), peer.line("ping")];
      const answers = await peer.exchange("", "   ", ` ${one}  `, "\t", `${two}\r`, "\r");
      checkEqual(
        answers.map(({ type }) => type),
        ["pong", "pong"],
        "answers",
      );
    },
  },
  {
    id: "ENV-15",
    title: "any text survives the way to a tool and back: accents, emoji, U+2028, U+0085, control characters, NUL",
    source: "subprocess transport tests (Unicode); wire facts 3.13",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      const value = {
        text: 'Grüße 你好 😀 \u2028\u2029\u0085 \u0000\u001f\u007f "\\/',
        "schlüssel 😀": ["ÿ", "\ufeff", "\uffff"],
      };
      const answer = checkType(await peer.call("conformance_echo", { value }), "tool/call/resp");
      checkEqual(asObject(answer.data, "data").data, value, "echo");
    },
  },
  {
    id: "ENV-16",
    title: "numbers, nesting and empty containers are returned unchanged",
    source: "base protocol tests (encode and decode)",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      const value = {
        zero: 0,
        small: 1e-9,
        big: 9007199254740991,
        float: 1.5,
        list: [[], {}, [{}], null, false, ""],
        deep: { a: { b: { c: [1] } } },
      };
      const answer = checkType(await peer.call("conformance_echo", { value }), "tool/call/resp");
      checkEqual(asObject(answer.data, "data").data, value, "echo");
    },
  },
  {
    id: "ENV-17",
    title: "a message of 100,000 characters passes both ways",
    source: "direct and subprocess transport tests",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      const value = "0123456789".repeat(10_000);
      const answer = checkType(await peer.call("conformance_echo", { value }), "tool/call/resp");
      check(asObject(answer.data, "data").data === value, "the echo differs from what was sent");
    },
  },
  {
    id: "ENV-18",
    title: "keys such as __proto__ and constructor do no harm",
    source: "hostile input",
    level: "must",
    needs: { tools: ["conformance_echo"] },
    async run({ agent }) {
      const peer = await agent();
      const id = peer.nextId();
      peer.send(
        `{"type":"tool/call/req","id":"${id}","version":"1.0","__proto__":{"isAdmin":true},"tool_name":"conformance_echo",` +
          `"arguments":{"value":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}}`,
      );
      checkType(await peer.answerTo(id), "tool/call/resp");
      const answer = checkType(await peer.call("conformance_echo", { value: {} }), "tool/call/resp");
      checkEqual(asObject(answer.data, "data").data, {}, "an empty object afterwards");
    },
  },
];
