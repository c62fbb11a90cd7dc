// Encrypts the secrets of a config for storage: only this host can decrypt them, and only for the same toolkit.
import type { Secrets } from "../../../plugin/ports/secrets.ts";
import type { Toolkit } from "../define-toolkit.ts";
import type { SecretValue } from "./secret-values.ts";

export function sealSecrets(port: Secrets, toolkit: Toolkit, secrets: readonly SecretValue[]): string {
  return secrets.length === 0 ? "" : port.seal(JSON.stringify(secrets), purposeOf(toolkit));
}

/** Throws an error for the agent if the secrets cannot be decrypted. */
export function unsealSecrets(port: Secrets, toolkit: Toolkit, sealed: string): SecretValue[] {
  if (sealed === "") return [];
  const text = port.unseal(sealed, purposeOf(toolkit));
  if (text === undefined) throw new Error("its secrets can no longer be read on this host; configure it again");
  return JSON.parse(text) as SecretValue[];
}

function purposeOf({ name }: Toolkit): string {
  return `toolkit ${name}`;
}
