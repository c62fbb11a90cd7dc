import { describe, expect, test } from "vitest";
import { ConfigError } from "../machinery/options/problem.ts";
import { needsCredential } from "./auth.ts";
import { parseConfigText } from "./file.ts";

const options = { env: {}, baseDir: "/srv", source: "a2e.yaml" };

async function problemsOf(text: string): Promise<string[]> {
  try {
    await parseConfigText(text, options);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map(
      ({ line, column, path, message, suggestion }) =>
        `${line}:${column} ${path}: ${message}${suggestion === undefined ? "" : ` (${suggestion})`}`,
    );
  }
}

test("a section auth is read with its defaults", async () => {
  const { auth } = await parseConfigText(
    "auth:\n  keys: true\n  jwt:\n    - { issuer: 'https://as.example', audience: [lab] }\n",
    options,
  );
  expect(auth).toEqual({
    keys: true,
    jwt: [
      {
        issuer: "https://as.example",
        audience: ["lab"],
        typ: "at+jwt",
        clock_skew_seconds: 30,
        claims: { principal: "sub", roles: "roles" },
      },
    ],
    certificates: [],
    default_roles: { token: ["operator"], keys: ["agent"], jwt: [], certificates: ["agent"], user: ["operator"] },
  });
});

describe("a problem with its place is reported for", () => {
  test("an issuer without an audience", async () => {
    expect(await problemsOf("auth:\n  jwt:\n    - issuer: https://as.example\n")).toEqual([
      expect.stringMatching(/^\d+:\d+ auth\.jwt\[0\]\.audience: is missing/),
    ]);
    expect(await problemsOf("auth:\n  jwt:\n    - { issuer: 'https://as.example', audience: [] }\n")).toHaveLength(1);
  });

  test("an issuer whose keys could be replaced on their way", async () => {
    const [problem = ""] = await problemsOf("auth:\n  jwt:\n    - { issuer: 'http://as.example', audience: [lab] }\n");
    expect(problem).toContain("expected an https address");
    expect(await problemsOf("auth: { jwt: [{ issuer: 'http://127.0.0.1:9', audience: [lab] }] }")).toEqual([]);
  });

  test("a signature with a shared secret", async () => {
    const issuer = "{ issuer: 'https://as.example', audience: [lab], algorithms: [HS256] }";
    expect((await problemsOf(`auth: { jwt: [${issuer}] }`))[0]).toContain("expected one of RS256");
  });

  test("a role that does not exist, anywhere in the section", async () => {
    const text = `
roles: { researcher: { allow: ["*"] } }
server: { tls: { cert: c.pem, key: k.pem, client_ca: ca.pem } }
auth:
  jwt:
    - { issuer: "https://as.example", audience: [lab], roles: [reseacher] }
  certificates:
    - { match: "*", roles: [researcher, nobody] }
  default_roles:
    jwt: [obsrver]
`;
    expect(await problemsOf(text)).toEqual([
      '6:64 auth.jwt[0].roles[0]: there is no role "reseacher" (researcher)',
      '8:41 auth.certificates[0].roles[1]: there is no role "nobody"',
      '10:11 auth.default_roles.jwt[0]: there is no role "obsrver" (observer)',
    ]);
  });

  test("certificates of agents without an authority that issues them", async () => {
    expect(await problemsOf("auth:\n  certificates: [{ match: '*' }]\n")).toEqual([
      "2:3 auth.certificates: no certificate of an agent can be checked: set server.tls.client_ca",
    ]);
  });
});

test("agents need a credential as soon as any is configured", async () => {
  const isNeeded = async (text: string) => needsCredential(await parseConfigText(text, options));
  expect(await isNeeded("host_id: lab")).toBe(false);
  expect(await isNeeded("auth_token: t")).toBe(true);
  expect(await isNeeded("auth: { keys: true }")).toBe(true);
  expect(await isNeeded("auth: { default_roles: { keys: [observer] } }")).toBe(false);
});
