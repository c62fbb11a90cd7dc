import fc from "fast-check";
import { expect, test } from "vitest";
import { ownerOf, toPrincipal } from "./principal.ts";

const ids = fc.oneof(
  fc.constantFrom("", "token", "key:a", "key:a/b", "principal:", "https://as.example|alice"),
  fc.string(),
);

test("an agent on a host with one shared token, or without a token, owns data under its own name", () => {
  expect(ownerOf({ id: "token", agentId: "ada" })).toBe("ada");
  expect(ownerOf({ id: "", agentId: "ada" })).toBe("ada");
  expect(ownerOf({ id: "", agentId: "" })).toBe("");
});

test("two agents of one principal have different owner keys", () => {
  fc.assert(
    fc.property(ids, ids, ids, (id, one, other) => {
      expect(ownerOf({ id, agentId: one }) === ownerOf({ id, agentId: other })).toBe(one === other);
    }),
  );
});

test("two principals never share an owner key, whatever names their agents claim", () => {
  const shared = (id: string) => (id === "token" ? "" : id);
  fc.assert(
    fc.property(ids, ids, ids, ids, (id, other, agentId, otherAgent) => {
      fc.pre(shared(id) !== shared(other));
      expect(ownerOf({ id, agentId })).not.toBe(ownerOf({ id: other, agentId: otherAgent }));
    }),
  );
  const claimed = ownerOf({ id: "key:bot", agentId: "ada" });
  expect(ownerOf({ id: "token", agentId: claimed })).not.toBe(claimed);
});

test("a principal of an earlier release is the agent of the shared token, or an agent that was let in without one", () => {
  expect(toPrincipal({ id: "ada", isAuthenticated: true })).toEqual({
    id: "token",
    agentId: "ada",
    isAuthenticated: true,
  });
  expect(toPrincipal({ id: "ada", isAuthenticated: false })).toEqual({
    id: "",
    agentId: "ada",
    isAuthenticated: false,
  });
});
