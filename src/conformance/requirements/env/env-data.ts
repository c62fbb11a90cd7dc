// `env/data`: files of a task. Names, sizes and checksums are sent; bytes only on request.
import type { Message } from "../../../protocol/envelope.ts";
import type { JsonObject } from "../../../protocol/json.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType, only } from "../../check.ts";
import { sharedHost } from "../../link.ts";
import type { Peer } from "../../peer.ts";
import { referenceFile } from "../../reference-data.ts";
import type { Requirement } from "../../requirement.ts";
import { observe, reset, step } from "./episodes.ts";

const needs = { capability: "env", file: true } as const;

/** A data root that no other requirement has. */
function rootOf(peer: Peer): string {
  return `/workspace/${peer.nextId()}`;
}

async function get(peer: Peer, fields: object): Promise<{ answer: Message; items: JsonObject[] }> {
  const answer = checkType(await peer.request("env/data/get/req", fields), "env/data/get/resp");
  return { answer, items: asArray(answer.items, "items").map((item) => asObject(item, "items[]")) };
}

async function add(peer: Peer, data_root: string, ...parts: object[]): Promise<Message> {
  return checkType(await peer.request("env/data/add/req", { parts, data_root }), "env/data/add/resp");
}

const namesOf = (items: readonly JsonObject[]) => items.map(({ dest }) => dest);

export const envData: readonly Requirement[] = [
  {
    id: "DATA-1",
    title: "data is listed by a part of its name or a pattern, with size and checksum and without its bytes",
    source: "wire facts: env data plane (v0.1.3)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const query of ["", "conformance", "*.txt"]) {
        const { answer, items } = await get(peer, { query, data_root: rootOf(peer) });
        const item = only(items, `item for "${query}"`);
        checkEqual(
          [item.dest, item.size_bytes, item.checksum, item.content],
          [referenceFile.name, referenceFile.content.length, referenceFile.checksum, undefined],
          "item",
        );
        checkEqual([answer.ok, answer.truncated], [true, false], "ok and truncated");
        check(JSON.stringify(answer).length < 1024, "the answer should be less than 1 KB");
      }
      checkEqual((await get(peer, { query: "*.csv", data_root: rootOf(peer) })).items, [], "items of no match");
    },
  },
  {
    id: "DATA-2",
    title: "content comes on request, and not for a file larger than max_bytes",
    source: "wire facts: env data plane (v0.1.3)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const data_root = rootOf(peer);
      const whole = await get(peer, { include_content: true, data_root });
      checkEqual(only(whole.items, "item").content, referenceFile.content, "content");
      const cut = await get(peer, { include_content: true, max_bytes: 3, data_root });
      checkEqual(only(cut.items, "item").content, undefined, "content of a file that is too large");
      checkEqual(cut.answer.truncated, true, "truncated");
    },
  },
  {
    id: "DATA-3",
    title: "parts are staged with their checksum verified, and a bad part does not stop the others",
    source: "wire facts: env data plane (v0.1.3)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const data_root = rootOf(peer);
      const { name: src, checksum } = referenceFile;
      const answer = await add(
        peer,
        data_root,
        { src, dest: "good.txt", uri: "task://good", checksum, mime: "text/plain" },
        { src, dest: "bad.txt", checksum: `sha256:${"0".repeat(64)}` },
        { src: "no-such-file", dest: "missing.txt" },
        { src, dest: "folder/also good.txt" },
      );
      checkEqual([answer.ok, answer.added, asArray(answer.errors, "errors").length], [false, 2, 2], "outcome");
      const { items } = await get(peer, { query: "good", data_root });
      checkEqual(namesOf(items).sort(), ["folder/also good.txt", "good.txt"], "staged files");
      checkEqual(items.find(({ dest }) => dest === "good.txt")?.uri, "task://good", "uri");
      checkEqual((await get(peer, { query: "bad", data_root })).items, [], "what a bad checksum leaves");
    },
  },
  {
    id: "DATA-4",
    title: "no path leads out of the folders of the host, neither from nor to",
    source: "wire facts: env data plane (the host must confine paths)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const data_root = rootOf(peer);
      const hostile = [
        { src: "/etc/passwd", dest: "x" },
        { src: "../../../../../../etc/passwd", dest: "x" },
        { src: referenceFile.name, dest: "../../x" },
        { src: `${referenceFile.name}\0`, dest: "x" },
      ];
      const answer = await add(peer, data_root, ...hostile);
      checkEqual([answer.ok, answer.added], [false, 0], "ok and added");
      checkEqual(asArray(answer.errors, "errors").length, hostile.length, "number of errors");
      checkEqual(namesOf((await get(peer, { data_root })).items), [referenceFile.name], "files afterwards");
      checkError(await peer.request("env/data/get/req", { data_root: "../../.." }), "forbidden", "schema_violation");
    },
  },
  {
    id: "DATA-5",
    title: "a reset restores the baseline and removes added files; with scope baseline it keeps them",
    source: "wire facts: env data plane (v0.1.3)",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const data_root = rootOf(peer);
      await add(peer, data_root, { src: referenceFile.name, dest: "more.txt" });
      for (const [scope, names] of [
        ["baseline", [referenceFile.name, "more.txt"]],
        ["all", [referenceFile.name]],
      ] as const) {
        const answer = checkType(await peer.request("env/data/reset/req", { scope, data_root }), "env/data/reset/resp");
        checkEqual([answer.ok, answer.restored, answer.data_root], [true, 1, data_root], `answer to scope ${scope}`);
        checkEqual(namesOf((await get(peer, { data_root })).items), names, `files after scope ${scope}`);
      }
    },
  },
  {
    id: "DATA-6",
    title: "data is independent of episodes: a reset of one does not disturb the other",
    source: "wire facts: v0.1.3 tests",
    level: "must",
    needs: { ...needs, environments: ["counter_env"] },
    async run({ agent }) {
      const peer = await agent();
      const data_root = rootOf(peer);
      const start = await reset(peer);
      await step(peer, start, { type: "inc" });
      await add(peer, data_root, { src: referenceFile.name, dest: "more.txt" });
      await reset(peer);
      checkEqual((await get(peer, { query: "more", data_root })).items.length, 1, "files after a reset of an episode");
      await peer.request("env/data/reset/req", { data_root });
      checkEqual((await observe(peer, start)).state, { count: 1 }, "state after a reset of the data");
    },
  },
  {
    id: "DATA-7",
    title: "two sessions share no data, even with the same data root",
    source: "wire facts: v0.1.3 tests (two tasks do not share data)",
    level: "must",
    needs,
    transports: sharedHost,
    async run({ agent }) {
      const [one, other] = [await agent(), await agent()];
      const data_root = rootOf(one);
      await add(one, data_root, { src: referenceFile.name, dest: "mine.txt" });
      checkEqual(namesOf((await get(other, { data_root })).items), [referenceFile.name], "files of the other");
      await other.request("env/data/reset/req", { data_root });
      checkEqual((await get(one, { query: "mine", data_root })).items.length, 1, "own files after the other's reset");
    },
  },
];
