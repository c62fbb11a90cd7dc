// The chains capability: graphs of tools in both documented shapes, their failures, their events, and our extensions.
import type { Message } from "../../protocol/envelope.ts";
import { isJsonObject } from "../../protocol/json.ts";
import { asArray, asObject, check, checkEqual, checkError, checkType } from "../check.ts";
import { type Peer, uniqueKey } from "../peer.ts";
import type { Requirement } from "../requirement.ts";

const needs = { capability: "chains", tools: ["conformance_echo", "conformance_fail"] } as const;

/** A node as the SDK's model fills it in. */
function sdkNode(node_id: string, kind: string, fields: object): object {
  return {
    node_id,
    kind,
    name: "",
    input: {},
    input_map: {},
    condition: "",
    true_node: "",
    false_node: "",
    items_path: "",
    map_node: "",
    next_node: "",
    on_error: "abort",
    ...fields,
  };
}

function echo(node_id: string, fields: object = {}): object {
  return { node_id, kind: "tool", name: "conformance_echo", input: { value: node_id }, ...fields };
}

async function run(peer: Peer, nodes: readonly object[], fields: object = {}): Promise<Message> {
  return checkType(await peer.request("chain/req", { nodes, ...fields }), "chain/resp");
}

export const chains: readonly Requirement[] = [
  {
    id: "CHAIN-1",
    title: "a chain in the SDK's shape runs along next_node, and its answer has every field of the SDK's model",
    source: "wire facts H1, H3, H4, H5",
    level: "must",
    needs,
    async run({ agent }) {
      const nodes = [
        sdkNode("first", "tool", { name: "conformance_echo", input_map: { value: "$.z" }, next_node: "second" }),
        sdkNode("second", "tool", {
          name: "conformance_echo",
          input: { times: 2 },
          input_map: { value: "$.first.deep" },
        }),
      ];
      const answer = await run(await agent(), nodes, {
        session_id: "",
        chain_id: "sdk",
        entry_node: "first",
        initial_input: { z: { deep: [1, 2] } },
        correlation_id: "",
        streaming: true,
        timeout: 300,
      });
      checkEqual(
        [answer.chain_id, answer.success, answer.error, answer.nodes_run, answer.final_output],
        ["sdk", true, null, 2, [1, 2]],
        "chain_id, success, error, nodes_run, final_output",
      );
      checkEqual(answer.outputs, { first: { deep: [1, 2] }, second: [1, 2] }, "outputs");
      check(Number.isInteger(answer.duration_ms), `duration_ms is a whole number, not ${answer.duration_ms}`);
    },
  },
  {
    id: "CHAIN-2",
    title: "the documentation's shape means the same: execute, action, deps, JMESPath, literals, A OR B, input",
    source: "wire facts H1, H2, H4",
    level: "must",
    needs,
    async run({ agent }) {
      const nodes = [
        { node_id: "read", kind: "action", name: "conformance_echo", input_map: { value: "input.files" } },
        { node_id: "count", kind: "action", name: "conformance_echo", input_map: { value: "length(read.data)" } },
        { node_id: "text", kind: "action", name: "conformance_echo", input_map: { value: "nothing OR '/x'" } },
        { node_id: "both", kind: "gather", deps: ["text", "count"] },
      ];
      const initial_input = { files: ["a", "b", "c"], nothing: null };
      for (const [type, responseType] of [
        ["chain/execute/req", "chain/execute/resp"],
        ["chain/execute", "chain/resp"],
      ] as const) {
        const answer = checkType(await (await agent()).request(type, { nodes, initial_input }), responseType);
        checkEqual([answer.success, answer.final_output], [true, ["/x", 3]], "success and final_output");
      }
    },
  },
  {
    id: "CHAIN-3",
    title: "a join after a fork is not a cycle and runs once",
    source: "wire facts H7",
    level: "must",
    needs: { capability: "chains", tools: ["conformance_echo", "conformance_count"] },
    async run({ agent }) {
      const peer = await agent();
      const key = uniqueKey(peer);
      const answer = await run(
        peer,
        [
          echo("a", { next_node: "b" }),
          echo("b", { next_node: "d" }),
          echo("c", { deps: ["a"], next_node: "d" }),
          { node_id: "d", kind: "tool", name: "conformance_count", input: { key }, deps: ["c"] },
        ],
        { entry_node: "a" },
      );
      checkEqual([answer.success, answer.nodes_run, answer.final_output], [true, 4, { count: 1 }], "answer");
    },
  },
  {
    id: "CHAIN-4",
    title: "a branch follows its condition; the other way is skipped with a skip event",
    source: "wire facts H8, H9",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const [condition, taken] of [
        ["$.n > 3", "yes"],
        ["$.n == 4", "no"],
        ["n >= `5` && n <= `5`", "yes"],
        ["$.missing", "no"],
      ] as const) {
        const branch = { node_id: "b", kind: "branch", condition, true_node: "yes", false_node: "no" };
        const initial_input = { n: 5, missing: null };
        const id = peer.post("chain/req", { nodes: [branch, echo("yes"), echo("no")], initial_input });
        const answer = checkType(await peer.answerTo(id), "chain/resp");
        checkEqual([answer.success, answer.final_output], [true, taken], `the way of ${condition}`);
        const skips = peer.eventsOf(id).filter(({ data }) => isJsonObject(data) && data.phase === "skip");
        checkEqual(skips.length, 1, "skip events");
      }
    },
  },
  {
    id: "CHAIN-5",
    title: "a map runs its node for every item, in order, with item and _item in reach",
    source: "wire facts H6",
    level: "must",
    needs,
    async run({ agent }) {
      const nodes = [
        { node_id: "m", kind: "map", items_path: "$.list", map_node: "each" },
        { node_id: "each", kind: "tool", name: "conformance_echo", input_map: { value: "[item.v, _item.v]" } },
      ];
      const list = Array.from({ length: 20 }, (_, v) => ({ v }));
      const answer = await run(await agent(), nodes, { initial_input: { list } });
      checkEqual(
        answer.final_output,
        list.map(({ v }) => [v, v]),
        "final_output",
      );
    },
  },
  {
    id: "CHAIN-6",
    title: "start, done and error events carry node_id and phase, are numbered, and come before the answer",
    source: "wire facts H9, C30",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const nodes = [
        echo("a"),
        { node_id: "b", kind: "tool", name: "conformance_fail", input: { message: "broken" }, deps: ["a"] },
      ];
      const id = peer.post("chain/req", { nodes });
      const answer = checkType(await peer.answerTo(id), "chain/resp");
      const events = peer.eventsOf(id);
      const told = events.map(({ type, seq, data }) => {
        const { node_id, phase } = asObject(data, "data");
        return [type, seq, node_id, phase];
      });
      checkEqual(
        told,
        [
          ["chain/event", 1, "a", "start"],
          ["chain/event", 2, "a", "done"],
          ["chain/event", 3, "b", "start"],
          ["chain/event", 4, "b", "error"],
        ],
        "events",
      );
      checkEqual([answer.success, asObject(answer.error, "error").code], [false, "chain_node_error"], "answer");
      const silent = peer.post("chain/req", { nodes, streaming: false });
      await peer.answerTo(silent);
      checkEqual(peer.eventsOf(silent).length, 0, "events where none were asked for");
    },
  },
  {
    id: "CHAIN-7",
    title: "on_error skip continues without success and without an error; a node as on_error takes over",
    source: "wire facts H10, H11",
    level: "must",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const bad = { node_id: "bad", kind: "tool", name: "conformance_fail", input: { message: "broken" } };
      const skipped = await run(peer, [{ ...bad, on_error: "skip", next_node: "next" }, echo("next")], {
        entry_node: "bad",
      });
      checkEqual([skipped.success, skipped.error, skipped.final_output], [false, null, "next"], "after skip");
      const rescued = await run(
        peer,
        [{ ...bad, on_error: "rescue", next_node: "next" }, echo("next"), echo("rescue")],
        { entry_node: "bad" },
      );
      checkEqual([rescued.error, rescued.final_output], [null, "rescue"], "after the other node");
    },
  },
  {
    id: "CHAIN-8",
    title: "a cycle is answered with chain_cycle, a wrong entry with bad_entry, and no node runs",
    source: "wire facts H7, H11",
    level: "must",
    needs: { capability: "chains", tools: ["conformance_echo", "conformance_count"] },
    async run({ agent }) {
      const peer = await agent();
      const key = uniqueKey(peer);
      const count = { node_id: "n", kind: "tool", name: "conformance_count", input: { key } };
      const cycle = await run(peer, [count, echo("a", { next_node: "b" }), echo("b", { next_node: "a" })]);
      checkEqual([cycle.success, asObject(cycle.error, "error").code], [false, "chain_cycle"], "a cycle");
      const entry = await run(peer, [count], { entry_node: "nowhere" });
      checkEqual([entry.success, asObject(entry.error, "error").code], [false, "bad_entry"], "a wrong entry");
      const fine = await run(peer, [count]);
      checkEqual(fine.final_output, { count: 1 }, "how often the node ran");
    },
  },
  {
    id: "CHAIN-9",
    title: "the timeout of the chain stops the running node, and the results of ended nodes are returned",
    source: "wire facts H12",
    level: "must",
    needs: { capability: "chains", tools: ["conformance_echo", "conformance_wait"] },
    async run({ agent }) {
      const slow = { node_id: "slow", kind: "tool", name: "conformance_wait", input: { ms: 60_000 }, deps: ["a"] };
      const answer = await run(await agent(), [echo("a"), slow], { timeout: 1 });
      checkEqual([answer.success, asObject(answer.error, "error").code], [false, "timeout"], "success and error");
      checkEqual(answer.outputs, { a: "a" }, "outputs");
    },
  },
  {
    id: "CHAIN-10",
    title: "failed and skipped nodes are listed, and validation reports all problems at once",
    source: "an extension: chain/validate, failed, skipped",
    level: "extension",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const nodes = [
        echo("a", { input_map: { value: "b.[" }, next_node: "gone" }),
        { node_id: "c", kind: "tool", name: "conformance_no_such_tool" },
        echo("d", { deps: ["d"] }),
      ];
      const answer = checkType(await peer.request("chain/validate/req", { nodes }), "chain/validate/resp");
      const alias = checkType(await peer.request("chain/validate", { nodes }), "chain/validate/resp");
      checkEqual(alias.problems, answer.problems, "problems by the other name");
      const codes = asArray(answer.problems, "problems").map((problem) => String(asObject(problem, "problem").code));
      checkEqual(codes.sort(), ["bad_expression", "chain_cycle", "unknown_node", "unknown_tool"], "problems");
      const bad = { node_id: "bad", kind: "tool", name: "conformance_fail", input: { message: "x" }, on_error: "skip" };
      const branch = { node_id: "b", kind: "branch", condition: "`true`", true_node: "y", false_node: "n" };
      const ran = await run(peer, [bad, branch, echo("y"), echo("n")]);
      checkEqual([ran.failed, ran.skipped], [["bad"], ["n"]], "failed and skipped");
    },
  },
  {
    id: "CHAIN-11",
    title: "an approval asks the agent and continues according to its answer",
    source: "an extension: chain/approve",
    level: "extension",
    needs,
    async run({ agent }) {
      const peer = await agent();
      for (const approved of [true, false]) {
        const nodes = [
          { node_id: "ok", kind: "approval", message: "Go?", input: { v: 1 } },
          echo("go", { deps: ["ok"] }),
        ];
        const id = peer.post("chain/req", { nodes });
        const ask = await peer.find(
          ({ type, run_id }) => type === "chain/approve/req" && run_id === id,
          "chain/approve/req",
        );
        checkEqual([ask.node_id, ask.message, ask.data], ["ok", "Go?", { v: 1 }], "the question");
        peer.post("chain/approve/resp", { req_id: ask.id, approved });
        checkEqual((await peer.answerTo(id)).success, approved, "success");
      }
    },
  },
  {
    id: "CHAIN-13",
    title: "a run under way is listed, and can be cancelled by its id",
    source: "an extension: chain/list, chain/cancel",
    level: "extension",
    needs: { capability: "chains", tools: ["conformance_wait"] },
    async run({ agent }) {
      const peer = await agent();
      const nodes = [{ node_id: "slow", kind: "tool", name: "conformance_wait", input: { ms: 60_000 } }];
      const id = peer.post("chain/req", { nodes });
      await peer.find(({ req_id, type }) => type === "chain/event" && req_id === id, "the start of the node");
      for (const type of ["chain/list/req", "chain/list"]) {
        const { runs } = checkType(await peer.request(type), "chain/list/resp");
        const ids = asArray(runs, "runs").map((listed) => asObject(listed, "run").run_id);
        check(ids.includes(id), `${type} lists the run`);
      }
      const cancelled = checkType(await peer.request("chain/cancel/req", { run_id: id }), "chain/cancel/resp");
      checkEqual(cancelled.cancelled, true, "cancelled");
      checkEqual((await peer.answerTo(id)).success, false, "success");
    },
  },
  {
    id: "CHAIN-14",
    title: "expressions sort numbers as numbers, and an endless expression fails its node only",
    source: "an extension: bounds of expressions",
    level: "extension",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const sorted = await run(peer, [echo("a", { input_map: { value: "sort(list)" } })], {
        initial_input: { list: [10, 9, -1] },
      });
      checkEqual(sorted.final_output, [-1, 9, 10], "sort");
      const doubling = `[input]${" | [@, @][]".repeat(60)}`;
      const bomb = await run(peer, [echo("a", { input_map: { value: doubling } })]);
      const { code, detail } = asObject(bomb.error, "error");
      checkEqual([code, asObject(detail, "detail").code], ["chain_node_error", "bad_expression"], "error");
      checkEqual((await run(peer, [echo("a")])).final_output, "a", "the next chain");
    },
  },
  {
    id: "CHAIN-12",
    title: "an output too large for a message is a reference, read page by page",
    source: "an extension: chain/output",
    level: "extension",
    needs,
    async run({ agent }) {
      const peer = await agent();
      const value = "0123456789".repeat(20_000);
      const answer = await run(peer, [echo("big", { input: { value } })], { streaming: false });
      const reference = asObject(asObject(answer.outputs, "outputs").big, "outputs.big");
      checkEqual([reference.$ref, reference.node_id], ["chain/output", "big"], "reference");
      let text = "";
      for (let offset: unknown = 0; offset !== null; ) {
        const page = await peer.request("chain/output/req", { run_id: answer.run_id, node_id: "big", offset });
        text += String(checkType(page, "chain/output/resp").text);
        offset = page.next_offset;
      }
      checkEqual(JSON.parse(text), value, "text");
      checkError(await peer.request("chain/output/req", { run_id: "nobody", node_id: "big" }), "unknown_output");
    },
  },
];
