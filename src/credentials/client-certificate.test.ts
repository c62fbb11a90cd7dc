import { expect, test } from "vitest";
import { createClientCertificates } from "./client-certificate.ts";
import type { VerifiedCertificate } from "./credential.ts";

const valid_to = "Jan  1 00:00:00 2030 GMT";
const clock = { now: () => Date.parse("2026-05-04T10:00:00Z") };

function present(certificate: VerifiedCertificate, field?: "common_name" | "uri" | "dns" | "email") {
  const rolesOf = (name: string) => (name === "stranger" ? undefined : ["agent"]);
  const kind = createClientCertificates({ rolesOf, clock, ...(field === undefined ? {} : { field }) });
  return kind.authenticate({ token: "", agentId: "someone-else", certificate: { valid_to, ...certificate } });
}

test("the common name of a certificate names the principal, and its end of validity ends the principal's", () => {
  expect(present({ subject: { CN: "worker-7" } })).toEqual({
    id: "cert:worker-7",
    roles: ["agent"],
    expiresAt: Date.parse("2030-01-01"),
    chain: ["cert:worker-7"],
  });
});

test("an alternative name of the configured kind names the principal", () => {
  const subjectaltname = 'DNS:a.example, URI:spiffe://prod/worker, email:"x, URI:spiffe://prod/admin"';
  expect(present({ subjectaltname }, "uri")).toMatchObject({ id: "cert:spiffe://prod/worker" });
  expect(present({ subjectaltname }, "dns")).toMatchObject({ id: "cert:a.example" });
  expect(present({ subjectaltname }, "email")).toMatchObject({ id: "cert:x, URI:spiffe://prod/admin" });
});

test("a certificate without a name, with several, without a role or without an end is wrong", () => {
  expect(present({})).toMatchObject({ refused: "wrong" });
  expect(present({ subject: { CN: "" } })).toMatchObject({ refused: "wrong" });
  expect(present({ subject: { CN: ["a", "b"] } })).toMatchObject({
    refused: "wrong",
    detail: expect.stringContaining("2 names"),
  });
  expect(present({ subjectaltname: "URI:a, URI:b" }, "uri")).toMatchObject({ refused: "wrong" });
  expect(present({ subject: { CN: "stranger" } })).toMatchObject({ refused: "wrong" });
  expect(present({ subject: { CN: "a" }, valid_to: "soon" })).toMatchObject({ refused: "wrong" });
});

test("a certificate that has expired meanwhile is refused as expired", () => {
  expect(present({ subject: { CN: "a" }, valid_to: "Jan  1 00:00:00 2026 GMT" })).toMatchObject({ refused: "expired" });
});

test("a certificate counts only if no token was presented", () => {
  const kind = createClientCertificates({ rolesOf: () => [] });
  expect(kind.recognises({ token: "", agentId: "", certificate: {} })).toBe(true);
  expect(kind.recognises({ token: "x", agentId: "", certificate: {} })).toBe(false);
  expect(kind.recognises({ token: "", agentId: "" })).toBe(false);
});
