// A toolkit may mark as secret what it did not mark before: what is kept of its config then has it in clear.
import type { Secrets } from "../../../host/ports/secrets.ts";
import { toPath } from "../../../machinery/validation/problem-text.ts";
import type { Toolkit } from "../define-toolkit.ts";
import type { ToolkitRecord } from "../shelf/toolkit-record.ts";
import { sealSecrets, unsealSecrets } from "./sealed-secrets.ts";
import { splitSecrets } from "./secret-values.ts";

/** The record as the schema of today has it; undefined where it is so already. */
export function sealNewlySecret(record: ToolkitRecord, toolkit: Toolkit, port: Secrets): ToolkitRecord | undefined {
  const { shown, secrets } = splitSecrets(toolkit.configSchema, record.config);
  // In a list, null stands where a secret was taken out.
  const found = secrets.filter(([path]) => !record.secrets.includes(toPath(path)));
  if (found.length === 0) return undefined;
  const paths = [...record.secrets, ...found.map(([path]) => toPath(path))];
  try {
    const sealed = sealSecrets(port, toolkit, [...unsealSecrets(port, toolkit, record.sealed), ...found]);
    return { ...record, config: shown, secrets: paths, sealed };
  } catch {
    // The others cannot be read, so it has to be configured again in any case.
    return { ...record, config: shown, secrets: paths };
  }
}
