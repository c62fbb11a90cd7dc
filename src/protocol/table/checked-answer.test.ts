import { expect, test } from "vitest";
import { z } from "zod";
import { call } from "./capability.ts";
import { CheckedAnswer } from "./checked-answer.ts";

const look = call("look/req", "look/resp", {
  about: { access: "read" },
  doc: "Looks.",
  request: z.object({}),
  result: z.object({ seen: z.object({ colour: z.string() }) }),
  mirrors: { colour: "seen.colour" },
  example: { request: {}, result: { seen: { colour: "red" } } },
});

test("an answer that becomes a message gets its envelope and the second names of its fields", () => {
  const result = { seen: { colour: "blue" } };

  const message = new CheckedAnswer(look, "looked", "call-1", result, 1_500).toMessage("answer-1");

  expect(message).toEqual({
    type: "looked",
    id: "answer-1",
    a2e: "1.0",
    version: "1.0",
    ts: 1.5,
    req_id: "call-1",
    seen: { colour: "blue" },
    colour: "blue",
  });
  expect(result).toEqual({ seen: { colour: "blue" } });
});
