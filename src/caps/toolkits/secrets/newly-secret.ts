// A new version of a toolkit may mark a value as secret that was not secret before, and that stored configs have in the
// clear.

import { toPath } from "../../../machinery/validation/problem-text.ts";
import type { Secrets } from "../../../plugin/ports/secrets.ts";
import type { Toolkit } from "../define-toolkit.ts";
import type { ToolkitRecord } from "../shelf/toolkit-record.ts";
import { sealSecrets, unsealSecrets } from "./sealed-secrets.ts";
import { splitSecrets } from "./secret-values.ts";

/** Seals values that are newly marked as secret. Returns undefined if there are none. */
export function sealNewlySecret(record: ToolkitRecord, toolkit: Toolkit, port: Secrets): ToolkitRecord | undefined {
  const { shown, secrets } = splitSecrets(toolkit.configSchema, record.config);
  // In a list, null replaces a secret that is sealed already.
  const found = secrets.filter(([path]) => !record.secrets.includes(toPath(path)));
  if (found.length === 0) return undefined;
  const paths = [...record.secrets, ...found.map(([path]) => toPath(path))];
  try {
    const sealed = sealSecrets(port, toolkit, [...unsealSecrets(port, toolkit, record.sealed), ...found]);
    return { ...record, config: shown, secrets: paths, sealed };
  } catch {
    // The other secrets cannot be decrypted, so the toolkit must be configured again anyway.
    return { ...record, config: shown, secrets: paths };
  }
}
