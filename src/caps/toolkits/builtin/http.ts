import { isIP } from "node:net";
import { z } from "zod";
import type { GuardedNetwork, GuardedResponse } from "../../../host/confinement/guarded-request.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { jsonValue, parseJson } from "../../../protocol/json.ts";
import { defineToolkit, type Toolkit, toolkitOutput } from "../define-toolkit.ts";
import { toolkitLimits } from "../limits.ts";
import { isBelow, parseBaseUrl, resolveBelow } from "./http-reach.ts";

export interface HttpToolkitOptions extends Omit<GuardedNetwork, "maxRedirects" | "isInReach"> {
  timeoutMs: number;
}

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
const headerName = /^[!#$%&'*+.^_`|~\w-]{1,128}$/;
/** The connection's own affair, and the host's to decide. */
const reservedHeaders =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|keep-alive|expect|proxy-.*)$/i;
const headers = z
  .record(
    z.string().refine((name) => headerName.test(name) && !reservedHeaders.test(name), "is no header that can be set"),
    z
      .string()
      .max(8192)
      .regex(/^[^\r\n\0]*$/, "has a line break in it"),
  )
  .default({});
/** What an agent may add to a single request. */
const openHeaders =
  /^(accept|accept-language|content-type|if-(none-)?match|if-(un)?modified-since|prefer|range|x-[\w-]+)$/i;
const shownHeaders = ["content-type", "content-length", "etag", "last-modified", "link", "location", "retry-after"];

export function httpToolkit(options: HttpToolkitOptions): Toolkit {
  return defineToolkit({
    name: "http",
    description: "Requests to one web service: everything below a base URL, with headers that are set once.",
    category: "network",
    tags: ["http"],
    config: z.object({
      base_url: z.string().max(2048).describe("Only what lies below it can be reached."),
      headers: headers.describe("Sent with each request."),
      secret_headers: headers.meta({ "x-secret": true, description: "The same, for those that nobody may see." }),
      bearer_token: z
        .string()
        .max(8192)
        .regex(/^[\x21-\x7e]*$/, "has characters that no token has")
        .optional()
        .meta({ format: "password", description: "Sent as `Authorization: Bearer …`." }),
      methods: z.array(z.enum(methods)).min(1).default(["GET", "HEAD"]).describe("Which are allowed."),
      timeout_ms: z.int().min(1).max(options.timeoutMs).default(options.timeoutMs),
      max_bytes: z.int().min(1).max(options.maxBytes).default(options.maxBytes),
    }),

    start({ base_url }) {
      const base = parseBaseUrl(base_url);
      const literal = base.hostname.replace(/^\[|\]$/g, "");
      if (isIP(literal) !== 0 && !options.isAllowed(literal))
        throw new A2EError("forbidden", `base_url: ${literal} is not a public address`);
      return base;
    },

    tools: {
      request: {
        description: "Sends a request to a path below the base URL and returns status, some headers and the body.",
        input: z.object({
          method: z.enum(methods).default("GET"),
          path: z.string().max(4096).default("").describe("Relative to the base URL."),
          query: z.record(z.string(), z.string()).default({}),
          headers: z
            .record(z.string(), z.string().max(8192))
            .default({})
            .describe("accept, content-type, x-… and the like."),
          json: jsonValue.optional().describe("Sent as the body, as JSON."),
          body: z.string().max(toolkitLimits.httpMaxRequestBytes).optional().describe("Sent as the body, as it is."),
        }),
        async run(args, { config, resource: base }, { signal }) {
          if (!config.methods.includes(args.method))
            throw new A2EError("forbidden", `${args.method} is not allowed; ${config.methods.join(", ")} are`);
          const own = { ...config.headers, ...config.secret_headers };
          checkHeaders(args.headers, own);
          const body = args.json === undefined ? args.body : JSON.stringify(args.json);
          if (body !== undefined && Buffer.byteLength(body) > toolkitLimits.httpMaxRequestBytes)
            throw new Error(`the body is larger than ${toolkitLimits.httpMaxRequestBytes} bytes`);
          const url = resolveBelow(base, args.path, args.query);
          const deadline = AbortSignal.timeout(config.timeout_ms);
          try {
            // Loaded when first needed: undici costs every start of a host more than all the rest.
            const { requestGuarded } = await import("../../../host/confinement/guarded-request.ts");
            const response = await requestGuarded(
              {
                url: url.href,
                method: args.method,
                headers: {
                  ...(args.json === undefined ? {} : { "content-type": "application/json" }),
                  ...args.headers,
                  ...own,
                  ...(config.bearer_token === undefined ? {} : { authorization: `Bearer ${config.bearer_token}` }),
                },
                ...(body === undefined ? {} : { body }),
              },
              {
                ...options,
                maxBytes: config.max_bytes,
                maxRedirects: toolkitLimits.httpMaxRedirects,
                isInReach: (target) => isBelow(base, target),
              },
              AbortSignal.any([signal, deadline]),
            );
            return toolkitOutput({ data: toData(response), truncated: response.isCut });
          } catch (error) {
            if (deadline.aborted)
              throw new A2EError("timeout", `no complete answer within ${config.timeout_ms / 1000} s`);
            // A list of attempts is told by its first.
            throw error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
          }
        },
      },
    },
  });
}

/** What the config sets is not for a single request to change. */
function checkHeaders(given: Record<string, string>, own: Record<string, string>): void {
  const fixed = new Set(["authorization", ...Object.keys(own).map((name) => name.toLowerCase())]);
  for (const [name, value] of Object.entries(given)) {
    if (!openHeaders.test(name) || fixed.has(name.toLowerCase()))
      throw new A2EError("forbidden", `the header "${name.slice(0, 64)}" may not be set`);
    if (/[\r\n\0]/.test(value)) throw new A2EError("forbidden", `the header "${name}" has a line break in it`);
  }
}

function toData({ status, url, headers: received, bytes, isCut }: GuardedResponse) {
  const type = String(received["content-type"] ?? "");
  const found = shownHeaders.filter((name) => received[name] !== undefined);
  const shown = Object.fromEntries(found.map((name) => [name, [received[name]].flat().join(", ")]));
  return { status, url, headers: shown, ...toBody(bytes, type, isCut) };
}

function toBody(bytes: Buffer, type: string, isCut: boolean) {
  if (!isCut && /^application\/([\w.+-]*\+)?json\b/i.test(type)) {
    try {
      return { json: parseJson(bytes.toString("utf8")) };
    } catch {
      // Not what it says it is: shown as it came.
    }
  }
  const isText =
    type === "" || /^(text\/|application\/([\w.+-]*\+)?(json|xml|javascript|yaml|x-ndjson)\b)|charset=/i.test(type);
  return isText ? { text: decode(bytes, type) } : { base64: bytes.toString("base64") };
}

function decode(bytes: Buffer, type: string): string {
  const label = /charset="?([\w-]+)/i.exec(type)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
