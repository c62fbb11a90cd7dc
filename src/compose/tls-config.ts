// From the section `server.tls` of a config to the options of a server.
import type { A2EHostConfig } from "../config/schema.ts";
import { ConfigError } from "../machinery/options/problem.ts";
import type { TlsOptions } from "../server/tls/secure-server.ts";
import { readTlsFiles, TlsFileError } from "../server/tls/tls-files.ts";

type TlsConfig = A2EHostConfig["server"]["tls"];

/** Empty if the config sets no certificate. */
export function toTlsOptions({ cert, key, client_ca, client_certificates }: TlsConfig): { tls?: TlsOptions } {
  if (cert === undefined || key === undefined) return {};
  const clientCa = client_ca === undefined ? {} : { clientCa: client_ca, clientCertificates: client_certificates };
  return { tls: { cert, key, ...clientCa } };
}

/** Throws a ConfigError if the files cannot be used. */
export function checkTlsFiles({ server }: Pick<A2EHostConfig, "server">, now: number): void {
  const { tls } = toTlsOptions(server.tls);
  if (tls === undefined) return;
  try {
    readTlsFiles(tls, now);
  } catch (error) {
    if (!(error instanceof TlsFileError)) throw error;
    const field = error.field === "clientCa" ? "client_ca" : error.field;
    throw new ConfigError([{ path: `server.tls.${field}`, message: error.message }], undefined, { cause: error });
  }
}
