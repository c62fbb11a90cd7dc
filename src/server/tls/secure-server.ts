// An HTTPS server whose certificate is renewed while it runs.
import { stat } from "node:fs/promises";
import type { ServerOptions } from "node:http";
import { createServer, type Server } from "node:https";
import type { Logger } from "../../plugin/logger.ts";
import { messageOf } from "../../protocol/errors.ts";
import { readTlsFiles, type TlsContents, type TlsFiles } from "./tls-files.ts";

export interface TlsOptions extends TlsFiles {
  /** Whether a client must have a certificate; by default it may. Needs `clientCa`. */
  clientCertificates?: "optional" | "required";
  /** How often the files are checked for a change. */
  checkMs?: number;
}

export interface SecureServer {
  readonly server: Server;
  /** Stops checking the files. */
  stop(): void;
}

/** Operators should hear of it while there is time to renew. */
const warnBeforeMs = 14 * 24 * 3600 * 1000;

/**
 * Throws a TlsFileError. A file that is replaced later and cannot be used is logged, and the certificate before it stays
 * in use.
 */
export function createSecureServer(options: TlsOptions, http: ServerOptions, log: Logger): SecureServer {
  const { clientCa, clientCertificates = "optional", checkMs = 60_000 } = options;
  const read = (): TlsContents => {
    const contents = readTlsFiles(options, Date.now());
    if (contents.expiresAt - Date.now() < warnBeforeMs)
      log.warn("the certificate of this host expires soon", { expires: new Date(contents.expiresAt).toISOString() });
    return contents;
  };
  const isAsked = clientCa !== undefined;
  const server = createServer({
    ...http,
    ...read(),
    requestCert: isAsked,
    rejectUnauthorized: isAsked && clientCertificates === "required",
  });

  // Compared instead of watched: renewal programs replace symbolic links, which file watchers do not follow.
  let known = stampOf(options);
  const check = async () => {
    const stamp = await stampOf(options);
    if (stamp === (await known)) return;
    known = Promise.resolve(stamp);
    try {
      server.setSecureContext(read());
      log.info("the certificate of this host was reloaded");
    } catch (error) {
      log.error("a new certificate cannot be used, the one before stays in use", { reason: messageOf(error) });
    }
  };
  const timer = setInterval(() => void check(), checkMs).unref();
  return { server, stop: () => clearInterval(timer) };
}

/** Differs if any of the files has changed. */
async function stampOf({ cert, key, clientCa }: TlsFiles): Promise<string> {
  const stamps = [cert, key, clientCa ?? cert].map(async (path) => {
    try {
      const { ino, size, mtimeMs } = await stat(path);
      return `${ino}:${size}:${mtimeMs}`;
    } catch {
      return "missing";
    }
  });
  return (await Promise.all(stamps)).join(" ");
}
