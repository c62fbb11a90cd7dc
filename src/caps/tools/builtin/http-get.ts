import { z } from "zod";
import type { GuardedResponse } from "../../../machinery/confinement/guarded-request.ts";
import type { CatalogueTool } from "../../../plugin/tool-catalogue.ts";
import { A2EError } from "../../../protocol/errors.ts";
import { defineTool, toolOutput } from "../definition/define-tool.ts";
import type { BuiltinEnvironment } from "./environment.ts";

/** Response headers that are returned: those that are useful to a model. */
const shownHeaders = [
  "content-type",
  "content-length",
  "content-encoding",
  "last-modified",
  "etag",
  "cache-control",
  "retry-after",
];
const allowedHeaders = /^(accept|accept-language|if-none-match|if-modified-since|range|user-agent|x-[a-z0-9-]+)$/i;

export function httpGetTool({ http }: BuiltinEnvironment): CatalogueTool {
  return defineTool({
    name: "http_get",
    description: "Fetches a public http or https address and returns status, some headers and the body.",
    tags: ["http", "read"],
    idempotent: true,
    input: z.object({
      url: z.string().min(1).max(8192),
      headers: z
        .record(z.string(), z.string().max(8192))
        .default({})
        .describe("Request headers: accept, range, user-agent, x-… and similar."),
      encoding: z
        .enum(["auto", "text", "base64"])
        .default("auto")
        .describe("How to return the body; auto decides by its content type."),
    }),
    async run({ url, headers, encoding }, { signal }) {
      checkHeaders(headers);
      const deadline = AbortSignal.timeout(http.timeoutMs);
      try {
        // Loaded on first use: loading undici takes longer than loading all other tools.
        const { requestGuarded } = await import("../../../machinery/confinement/guarded-request.ts");
        const response = await requestGuarded({ url, headers }, http, AbortSignal.any([signal, deadline]));
        return toolOutput({ data: toData(response, encoding), truncated: response.isCut });
      } catch (error) {
        throw deadline.aborted
          ? new A2EError("timeout", `timed out: no complete response within ${http.timeoutMs / 1000} s`)
          : readable(error);
      }
    },
  });
}

function toData({ status, url, headers, bytes }: GuardedResponse, encoding: "auto" | "text" | "base64") {
  const type = String(headers["content-type"] ?? "");
  const isText = encoding === "text" || (encoding === "auto" && isTextType(type) && !headers["content-encoding"]);
  return {
    status,
    url,
    headers: pickHeaders(headers),
    encoding: isText ? "text" : "base64",
    body: isText ? decodeText(bytes, type) : bytes.toString("base64"),
  };
}

function checkHeaders(headers: Record<string, string>): void {
  for (const name of Object.keys(headers)) {
    if (!allowedHeaders.test(name)) throw new A2EError("forbidden", `the header "${name}" may not be set`);
  }
}

function pickHeaders(headers: GuardedResponse["headers"]): Record<string, string> {
  return Object.fromEntries(
    shownHeaders.filter((name) => headers[name] !== undefined).map((name) => [name, [headers[name]].flat().join(", ")]),
  );
}

function isTextType(type: string): boolean {
  return (
    type === "" ||
    /^\s*(text\/|application\/([\w.+-]*\+)?(json|xml|javascript|x-www-form-urlencoded|yaml|x-ndjson)\b)|charset=/i.test(
      type,
    )
  );
}

function decodeText(bytes: Buffer, type: string): string {
  const label = /charset="?([\w-]+)/i.exec(type)?.[1] ?? "utf-8";
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

/** Of several failed connection attempts, the error of the first. */
function readable(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0];
  return error;
}
