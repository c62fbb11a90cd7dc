import { expect, test } from "vitest";
import * as z from "zod";
import { chains } from "../../../caps/chains/protocol.ts";
import { mcp } from "../../../caps/mcp/protocol.ts";
import { skill } from "../../../caps/skill/protocol.ts";
import { call } from "../../../protocol/table/capability.ts";
import { canAnswer, toQuestion } from "./questions.ts";

test("a skill's request for a completion is a request for the client's model, and its answer is text", () => {
  const messages = [
    { role: "system", content: "Be short." },
    { role: "user", content: "A title?" },
  ];
  const question = toQuestion(skill.asks.llm, {
    messages,
    max_tokens: 5,
    skill_name: "x",
    skill_version: "1",
    call_id: "1",
  });

  expect(question?.request).toEqual({
    method: "sampling/createMessage",
    params: {
      systemPrompt: "Be short.",
      messages: [{ role: "user", content: { type: "text", text: "A title?" } }],
      maxTokens: 5,
    },
  });
  const answer = question?.toAnswer({ role: "assistant", content: { type: "text", text: "Tides" }, model: "m" });
  expect(answer).toEqual({ content: "Tides", model: "m" });
});

test("a chain's approval request is a form with the fields that a form can have", () => {
  const question = toQuestion(chains.asks.approve, {
    chain_id: "c",
    run_id: "r",
    node_id: "n",
    message: "Publish?",
    data: {},
  });

  expect(question?.request.params).toMatchObject({
    message: expect.stringContaining("Publish?"),
    requestedSchema: {
      properties: { approved: { type: "boolean" }, comment: { type: "string" } },
      required: ["approved"],
    },
  });
  expect(question?.request.params).not.toHaveProperty("requestedSchema.properties.data");
  expect(question?.toAnswer({ action: "accept", content: { approved: true } })).toEqual({ approved: true });
  expect(() => question?.toAnswer({ action: "decline" })).toThrow("declined");
  expect(() => question?.toAnswer({ action: "cancel" })).toThrow("did not answer");
});

test("a question whose answer does not fit into a form is not asked", () => {
  const example = { request: {}, result: { tree: {} } };
  const ask = call("x/y/req", "x/y/resp", {
    about: { access: "none" },
    doc: "A tree?",
    request: z.object({}),
    result: z.object({ tree: z.object({}) }),
    example,
  });
  expect(toQuestion(ask, {})).toBeUndefined();
});

test("a client is asked only questions that it declared support for", () => {
  const form = toQuestion(mcp.asks.elicit, { message: "?", requested_schema: {} })?.request;
  const page = toQuestion(mcp.asks.elicit, { mode: "url", message: "?", url: "https://x.example" })?.request;
  const roots = toQuestion(mcp.asks.listRoots, {})?.request;
  if (form === undefined || page === undefined || roots === undefined) throw new Error("not asked");

  expect(
    [{}, { elicitation: {} }, { elicitation: { form: {} } }, { elicitation: { url: {} } }].map((can) =>
      canAnswer(form, can),
    ),
  ).toEqual([false, true, true, false]);
  expect([{ elicitation: {} }, { elicitation: { url: {} } }].map((can) => canAnswer(page, can))).toEqual([false, true]);
  expect([{}, { roots: {} }].map((can) => canAnswer(roots, can))).toEqual([false, true]);
  expect(canAnswer(roots, undefined)).toBe(false);
});
