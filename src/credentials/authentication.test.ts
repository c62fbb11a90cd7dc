import { describe, expect, test } from "vitest";
import { createAuthentication } from "./authentication.ts";
import type { Credential, ProvenIdentity, Refusal } from "./credential.ts";
import { createSharedToken } from "./shared-token.ts";

const alice: ProvenIdentity = { id: "alice", isAuthenticated: true, roles: [], chain: ["alice"] };

function kind(prefix: string, outcome: ProvenIdentity | Refusal | Promise<ProvenIdentity | Refusal>): Credential {
  return { recognises: ({ token }) => token.startsWith(prefix), authenticate: () => outcome };
}

const shared = createSharedToken({ token: "s3cret" });
const present = (token: string) => ({ token, agentId: "agent" });

describe("authentication", () => {
  test("asks the kind that recognises the shape, and answers at once if the kind does", () => {
    const authenticate = createAuthentication([kind("a.", alice), shared]);
    expect(authenticate(present("a.1"))).toBe(alice);
    expect(authenticate(present("s3cret"))).toEqual({
      id: "token",
      isAuthenticated: true,
      roles: ["operator"],
      chain: ["token"],
    });
  });

  test("accepts a shared token that looks like another kind", () => {
    const authenticate = createAuthentication([
      kind("a.", { refused: "expired" }),
      createSharedToken({ token: "a.b.c", roles: ["agent"] }),
    ]);
    expect(authenticate(present("a.b.c"))).toMatchObject({ id: "token", roles: ["agent"] });
  });

  test("refuses with the reason of the kind that recognised the shape", async () => {
    const authenticate = createAuthentication([kind("a.", { refused: "expired" }), shared]);
    expect(authenticate(present("a.1"))).toEqual({ refused: "expired" });
    const later = createAuthentication([kind("a.", Promise.resolve({ refused: "server_error" as const })), shared]);
    expect(await later(present("a.1"))).toEqual({ refused: "server_error" });
  });

  test("tells a missing credential from a wrong one", () => {
    const authenticate = createAuthentication([kind("a.", alice), shared]);
    expect(authenticate(present(""))).toEqual({ refused: "missing" });
    expect(authenticate(present("other"))).toEqual({ refused: "wrong" });
    expect(createAuthentication([])(present("other"))).toEqual({ refused: "wrong" });
    expect(
      createAuthentication([])({
        ...present(""),
        certificate: { common_name: "a", alternative_names: [], expires_at: 0 },
      }),
    ).toEqual({ refused: "wrong" });
  });
});

describe("the shared token", () => {
  test("is compared as a whole", () => {
    for (const token of ["s3cre", "s3cret ", "S3CRET", "s3cret\0"]) {
      expect(shared.authenticate(present(token))).toEqual({ refused: "wrong" });
    }
  });

  test("must not be empty", () => {
    expect(() => createSharedToken({ token: "" })).toThrow("the shared token is empty");
  });
});
