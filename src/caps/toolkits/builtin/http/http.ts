import { isIP } from "node:net";
import { z } from "zod";
import type { GuardedNetwork, GuardedResponse } from "../../../../machinery/confinement/guarded-request.ts";
import { A2EError } from "../../../../protocol/errors.ts";
import { jsonValue, parseJson } from "../../../../protocol/json.ts";
import { defineToolkit, type Toolkit, toolkitOutput } from "../../define-toolkit.ts";
import { toolkitLimits } from "../../limits.ts";
import { checkOpenHeaders, configHeaders, withLowerCaseNames } from "./http-headers.ts";
import { isBelow, parseBaseUrl, refuseBaseUrl, resolveBelow } from "./http-reach.ts";

export interface HttpToolkitOptions extends Omit<GuardedNetwork, "maxRedirects" | "isInReach"> {
  timeoutMs: number;
}

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] as const;
const shownHeaders = ["content-type", "content-length", "etag", "last-modified", "link", "location", "retry-after"];

export function httpToolkit(options: HttpToolkitOptions): Toolkit {
  return defineToolkit({
    name: "http",
    description: "Requests to one web service: everything below a base URL, with headers that are set once.",
    category: "network",
    tags: ["http"],
    config: z.object({
      base_url: z
        .string()
        .max(2048)
        .superRefine((text, { addIssue }) => {
          const problem = refuseBaseUrl(text);
          if (problem !== undefined) addIssue({ code: "custom", message: problem });
        })
        .describe("Only URLs below it can be requested."),
      headers: configHeaders.describe("Sent with each request."),
      secret_headers: configHeaders.meta({ "x-secret": true, description: "Sent with each request and never shown." }),
      bearer_token: z
        .string()
        .max(8192)
        .regex(/^[\x21-\x7e]*$/, "has characters that are not allowed in a token")
        .optional()
        .meta({ format: "password", description: "Sent as `Authorization: Bearer …`." }),
      methods: z.array(z.enum(methods)).min(1).default(["GET", "HEAD"]).describe("The allowed methods."),
      // Without defaults, so that the current limits of the operator are not stored with the config.
      timeout_ms: z.int().min(1).max(options.timeoutMs).optional().describe("Time of one request."),
      max_bytes: z
        .int()
        .min(1)
        .max(options.maxBytes)
        .optional()
        .describe("The maximum size of a response body; the rest is cut off."),
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
          body: z.string().max(toolkitLimits.httpMaxRequestBytes).optional().describe("Sent as the body, unchanged."),
        }),
        async run(args, { config, resource: base }, { signal }) {
          if (!config.methods.includes(args.method))
            throw new A2EError("forbidden", `${args.method} is not allowed; ${config.methods.join(", ")} are`);
          const own = withLowerCaseNames({
            ...config.headers,
            ...config.secret_headers,
            ...(config.bearer_token === undefined ? {} : { Authorization: `Bearer ${config.bearer_token}` }),
          });
          checkOpenHeaders(args.headers, own);
          const body = args.json === undefined ? args.body : JSON.stringify(args.json);
          if (body !== undefined && Buffer.byteLength(body) > toolkitLimits.httpMaxRequestBytes)
            throw new Error(`the body is larger than ${toolkitLimits.httpMaxRequestBytes} bytes`);
          const url = resolveBelow(base, args.path, args.query);
          const { timeout_ms = options.timeoutMs, max_bytes = options.maxBytes } = config;
          const deadline = AbortSignal.timeout(timeout_ms);
          try {
            // Loaded on first use: undici takes longer to load than the rest of a host.
            const { requestGuarded } = await import("../../../../machinery/confinement/guarded-request.ts");
            const response = await requestGuarded(
              {
                url: url.href,
                method: args.method,
                headers: {
                  ...(args.json === undefined ? {} : { "content-type": "application/json" }),
                  ...withLowerCaseNames(args.headers),
                  ...own,
                },
                ...(body === undefined ? {} : { body }),
              },
              {
                ...options,
                maxBytes: max_bytes,
                maxRedirects: toolkitLimits.httpMaxRedirects,
                isInReach: (target) => isBelow(base, target),
              },
              AbortSignal.any([signal, deadline]),
            );
            return toolkitOutput({ data: toData(response), truncated: response.isCut });
          } catch (error) {
            if (deadline.aborted) throw new A2EError("timeout", `no complete answer within ${timeout_ms / 1000} s`);
            // Of several failed connection attempts, the first error is reported.
            throw error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
          }
        },
      },
    },
  });
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
      // Not valid JSON although the content type says so: returned as text.
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
