// The files of the workspace as resources. They are listed and read with the session's own file tools: the policy of
// the host applies, no path leads out of the folder, and every read is audited.
import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { tools } from "../../../caps/tools/protocol.ts";
import type { A2EClient } from "../../../client/client.ts";
import { A2EClientError } from "../../../client/errors.ts";
import { isJsonObject, type JsonObject } from "../../../protocol/json.ts";
import { mcpLimits } from "../limits.ts";
import type { CatalogueTools } from "./catalogue-tools.ts";
import { mimeTypeOf } from "./mime-types.ts";
import type { ResourceSource } from "./resource-source.ts";

const scheme = "workspace:///";
const template = `${scheme}{+path}`;

export function createWorkspaceResources(client: A2EClient, catalogue: CatalogueTools): ResourceSource {
  const canUse = async (name: string) => client.has(tools.name) && (await catalogue.has(name));
  const call = async (tool_name: string, args: JsonObject, signal?: AbortSignal) => {
    const request = { tool_name, arguments: args, timeout: 0 };
    const { data } = await client.rpc(tools.calls.call, request, { timeoutMs: 0, ...(signal && { signal }) });
    if (!data.success) throw new ProtocolError(ProtocolErrorCode.InternalError, data.error ?? `${tool_name} failed`);
    return { data: isJsonObject(data.data) ? data.data : {}, truncated: data.truncated ?? false };
  };
  const listPaths = async (): Promise<string[]> => {
    if (!(await canUse("glob"))) return [];
    const { data } = await call("glob", { pattern: "**/*", max_results: maxFiles });
    return Array.isArray(data.paths) ? data.paths.filter((path) => typeof path === "string").sort() : [];
  };

  return {
    list: async () => (await listPaths()).map(toResource),
    async templates() {
      if (!(await canUse("read_file"))) return [];
      return [
        {
          uriTemplate: template,
          name: "workspace file",
          description: "A file of the workspace, by its relative path.",
        },
      ];
    },
    async read(uri, signal) {
      const path = toPath(uri);
      if (path === undefined) return undefined;
      if (!(await canUse("read_file"))) throw new ResourceNotFoundError(uri);
      return toContents(uri, path, await readWhole(uri, path, signal));
    },
    async complete(asked, value) {
      if (asked !== template) return undefined;
      return (await listPaths()).filter((path) => path.startsWith(value));
    },
    async watch(uri) {
      if (!uri.startsWith(scheme)) return undefined;
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "files of the workspace cannot be watched", { uri });
    },
  };

  /** Reads bytes, in as many calls as the tool needs. */
  async function readWhole(uri: string, path: string, signal: AbortSignal): Promise<Buffer> {
    const parts: Buffer[] = [];
    let offset = 0;
    for (;;) {
      const { data, truncated } = await call("read_file", { path, encoding: "base64", offset }, signal).catch(
        (error: unknown) => {
          throw toReadError(uri, error);
        },
      );
      const part = Buffer.from(typeof data.content === "string" ? data.content : "", "base64");
      parts.push(part);
      offset += part.length;
      if (!truncated || part.length === 0) return Buffer.concat(parts);
      if (offset > mcpLimits.maxResourceBytes) throw tooLarge(path);
    }
  }
}

/** The maximum that the tool returns. */
const maxFiles = 10_000;

function toResource(path: string): Resource {
  return { uri: toUri(path), name: path, mimeType: mimeTypeOf(path) };
}

function toUri(path: string): string {
  return scheme + path.split("/").map(encodeURIComponent).join("/");
}

function toPath(uri: string): string | undefined {
  if (!uri.startsWith(scheme)) return undefined;
  try {
    return decodeURIComponent(uri.slice(scheme.length));
  } catch {
    throw new ResourceNotFoundError(uri, "the address is not properly percent-encoded");
  }
}

function toContents(uri: string, path: string, bytes: Buffer): ReadResourceResult {
  const mimeType = mimeTypeOf(path);
  const text = toText(bytes);
  return {
    contents: [text === undefined ? { uri, mimeType, blob: bytes.toString("base64") } : { uri, mimeType, text }],
  };
}

/** Undefined if the content is not UTF-8 text; the file's extension does not matter. */
function toText(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A client cannot distinguish a missing file from a forbidden one. */
function toReadError(uri: string, error: unknown): unknown {
  if (!(error instanceof A2EClientError)) return error;
  return error.is("tool_error") || error.is("forbidden") ? new ResourceNotFoundError(uri, error.message) : error;
}

function tooLarge(path: string): Error {
  const message = `"${path}" is larger than ${mcpLimits.maxResourceBytes} bytes: read it in parts with read_file`;
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
