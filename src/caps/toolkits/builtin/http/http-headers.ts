// The headers that a config may set, and those that a single request may add.
import { z } from "zod";
import { A2EError } from "../../../../protocol/errors.ts";

const headerName = /^[!#$%&'*+.^_`|~\w-]{1,128}$/;
/** Headers of the connection, which the host sets itself. */
const reservedHeaders =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|proxy-.*)$/i;

export const configHeaders = z
  .record(
    z
      .string()
      .refine((name) => headerName.test(name) && !reservedHeaders.test(name), "is not a header that can be set"),
    z
      .string()
      .max(8192)
      .regex(/^[^\r\n\0]*$/, "contains a line break or NUL character"),
  )
  .default({});

const openHeaders =
  /^(accept|accept-language|content-type|if-(none-)?match|if-(un)?modified-since|prefer|range|x-[\w-]+)$/i;
/** Servers treat these as a different method, path, host or sender of the request, which would bypass the config. */
const overridingHeaders =
  /^x-(http-method(-override)?|method-override|original-.*|rewrite-.*|forwarded(-.*)?|host|(real|client|cluster-client)-ip|proxy-.*|envoy-.*|accel-.*|sendfile.*)$/i;

/** Throws `forbidden` for a header that a request may not add, or that the config sets. */
export function checkOpenHeaders(given: Record<string, string>, own: Record<string, string>): void {
  for (const [name, value] of Object.entries(given)) {
    const isOpen = openHeaders.test(name) && !overridingHeaders.test(name);
    if (!isOpen || Object.hasOwn(own, name.toLowerCase()))
      throw new A2EError("forbidden", `the header "${name.slice(0, 64)}" may not be set`);
    if (/[\r\n\0]/.test(value))
      throw new A2EError("forbidden", `the header "${name.slice(0, 64)}" contains a line break or NUL character`);
  }
}

/** Two spellings of a name are the same header; the later value wins. */
export function withLowerCaseNames(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
