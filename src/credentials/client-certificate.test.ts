import { expect, test } from "vitest";
import { type CertificateField, createClientCertificates } from "./client-certificate.ts";
import type { VerifiedCertificate } from "./credential.ts";

const expires_at = Date.parse("2030-01-01");
const clock = { now: () => Date.parse("2026-05-04T10:00:00Z") };

function present(certificate: Partial<VerifiedCertificate>, field?: CertificateField) {
  const rolesOf = (name: string) => (name === "stranger" ? undefined : ["agent"]);
  const kind = createClientCertificates({ rolesOf, clock, ...(field === undefined ? {} : { field }) });
  const whole = { common_name: "", alternative_names: [], expires_at, ...certificate };
  return kind.authenticate({ token: "", agentId: "someone-else", certificate: whole });
}

test("the common name of a certificate names the principal, and its end of validity ends the principal's", () => {
  expect(present({ common_name: "worker-7" })).toEqual({
    id: "cert:worker-7",
    isAuthenticated: true,
    roles: ["agent"],
    expiresAt: expires_at,
    chain: ["cert:worker-7"],
  });
});

test("an alternative name of the configured kind names the principal", () => {
  const alternative_names = ["DNS:a.example", "URI:spiffe://prod/worker", "email:x, URI:spiffe://prod/admin"];
  expect(present({ alternative_names }, "uri")).toMatchObject({ id: "cert:spiffe://prod/worker" });
  expect(present({ alternative_names }, "dns")).toMatchObject({ id: "cert:a.example" });
  expect(present({ alternative_names }, "email")).toMatchObject({ id: "cert:x, URI:spiffe://prod/admin" });
});

test("a certificate without a name, with several or without a role is wrong", () => {
  expect(present({})).toMatchObject({ refused: "wrong" });
  expect(present({ alternative_names: ["URI:"] }, "uri")).toMatchObject({ refused: "wrong" });
  const several = present({ alternative_names: ["URI:a", "URI:b"] }, "uri");
  expect(several).toMatchObject({ refused: "wrong", detail: expect.stringContaining("2 names") });
  expect(present({ common_name: "stranger" })).toMatchObject({ refused: "wrong" });
});

test("a certificate that has expired meanwhile, or has no end of validity, is refused as expired", () => {
  expect(present({ common_name: "a", expires_at: clock.now() })).toMatchObject({ refused: "expired" });
  expect(present({ common_name: "a", expires_at: Number.NaN })).toMatchObject({ refused: "expired" });
});

test("a certificate counts only if no token was presented", () => {
  const kind = createClientCertificates({ rolesOf: () => [] });
  const certificate = { common_name: "a", alternative_names: [], expires_at };
  expect(kind.recognises({ token: "", agentId: "", certificate })).toBe(true);
  expect(kind.recognises({ token: "x", agentId: "", certificate })).toBe(false);
  expect(kind.recognises({ token: "", agentId: "" })).toBe(false);
});
