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
        .describe("Only what lies below it can be reached."),
      headers: configHeaders.describe("Sent with each request."),
      secret_headers: configHeaders.meta({ "x-secret": true, description: "The same, for those that nobody may see." }),
      bearer_token: z
        .string()
        .max(8192)
        .regex(/^[\x21-\x7e]*$/, "has characters that no token has")
        .optional()
        .meta({ format: "password", description: "Sent as `Authorization: Bearer …`." }),
      methods: z.array(z.enum(methods)).min(1).default(["GET", "HEAD"]).describe("Which are allowed."),
      // Without defaults: what the operator allows today is not to be kept with the config.
      timeout_ms: z.int().min(1).max(options.timeoutMs).optional().describe("Time of one request."),
      max_bytes: z.int().min(1).max(options.maxBytes).optional().describe("Of an answer; what is beyond is cut."),
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
            // Loaded when first needed: undici costs every start of a host more than all the rest.
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
            // A list of attempts is told by its first.
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
