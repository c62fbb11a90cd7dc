// The checks of `a2e doctor` for the section `auth` of a config. Its roles were checked when it was read.
import { stat } from "node:fs/promises";
import { apiKeyPath } from "../../compose/api-key-file.ts";
import type { A2EHostConfig } from "../../config/schema.ts";
import { discoverKeys, fetchDocument } from "../../credentials/issuer-documents.ts";
import { messageOf } from "../../protocol/errors.ts";
import { defaultLimits } from "../../protocol/limits.ts";
import type { Finding } from "./finding.ts";

export async function checkAuth({ auth, data_dir }: A2EHostConfig): Promise<Finding[]> {
  const checks = [...(auth.keys ? [checkKeyFile(apiKeyPath(data_dir))] : []), ...auth.jwt.map(checkIssuer)];
  return Promise.all(checks);
}

async function checkKeyFile(path: string): Promise<Finding> {
  const name = "keys";
  try {
    const { mode } = await stat(path);
    if (process.platform === "win32" || (mode & 0o077) === 0) return { name, status: "ok", message: path };
    return { name, status: "warn", message: `${path} can be read by other users`, advice: `chmod 600 ${path}` };
  } catch {
    const advice = "`a2e keys create <id>` makes a key.";
    return { name, status: "warn", message: "there is no API key yet, so no agent has one", advice };
  }
}

async function checkIssuer({ issuer, jwks_uri }: A2EHostConfig["auth"]["jwt"][number]): Promise<Finding> {
  const name = "issuer";
  try {
    const network = { fetch: globalThis.fetch, limits: defaultLimits };
    const { keys } = await fetchDocument(jwks_uri ?? (await discoverKeys(issuer, network)), network);
    if (!Array.isArray(keys)) throw new Error("its key set has no list of keys");
    return { name, status: "ok", message: `${issuer} has ${keys.length} keys` };
  } catch (error) {
    const advice = "Its JWTs are answered with server_error until its keys can be fetched.";
    return { name, status: "warn", message: `${issuer}: ${messageOf(error)}`, advice };
  }
}
