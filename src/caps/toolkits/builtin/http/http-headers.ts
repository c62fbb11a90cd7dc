// Which headers a config may set, and which a single request may add.
import { z } from "zod";
import { A2EError } from "../../../../protocol/errors.ts";

const headerName = /^[!#$%&'*+.^_`|~\w-]{1,128}$/;
/** The connection's own affair, and the host's to decide. */
const reservedHeaders =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|proxy-.*)$/i;

export const configHeaders = z
  .record(
    z.string().refine((name) => headerName.test(name) && !reservedHeaders.test(name), "is no header that can be set"),
    z
      .string()
      .max(8192)
      .regex(/^[^\r\n\0]*$/, "has a line break in it"),
  )
  .default({});

const openHeaders =
  /^(accept|accept-language|content-type|if-(none-)?match|if-(un)?modified-since|prefer|range|x-[\w-]+)$/i;
/** Servers take these for another method, path, host or sender than the request has: a way around what the config allows. */
const overridingHeaders =
  /^x-(http-method(-override)?|method-override|original-.*|rewrite-.*|forwarded(-.*)?|host|(real|client|cluster-client)-ip|proxy-.*|envoy-.*|accel-.*|sendfile.*)$/i;

/** Throws `forbidden` for a header that no request may add, or that the config has set. */
export function checkOpenHeaders(given: Record<string, string>, own: Record<string, string>): void {
  for (const [name, value] of Object.entries(given)) {
    const isOpen = openHeaders.test(name) && !overridingHeaders.test(name);
    if (!isOpen || Object.hasOwn(own, name.toLowerCase()))
      throw new A2EError("forbidden", `the header "${name.slice(0, 64)}" may not be set`);
    if (/[\r\n\0]/.test(value))
      throw new A2EError("forbidden", `the header "${name.slice(0, 64)}" has a line break in it`);
  }
}

/** A name in two spellings is one header, of which the later holds. */
export function withLowerCaseNames(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
