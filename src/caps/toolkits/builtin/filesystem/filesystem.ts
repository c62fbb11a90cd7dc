import { z } from "zod";
import type { JsonObject } from "../../../../protocol/json.ts";
import { defineToolkit, type Toolkit } from "../../define-toolkit.ts";
import type { AllowedFolders } from "../allowed-folders.ts";
import { listFolder, readPart, remove, toBytes, writeWhole } from "./file-actions.ts";

const path = z.string().max(4096);
const isWritable = (config: JsonObject) => config.writable === true;

export function filesystemToolkit(allowed: AllowedFolders): Toolkit {
  return defineToolkit({
    name: "filesystem",
    description: "Files below one folder: list, read and, if allowed, write and remove them.",
    category: "files",
    tags: ["files"],
    config: z.object({
      root: path
        .default(".")
        .describe("The folder, relative to the workspace or in a folder that the operator allows."),
      writable: z.boolean().default(false).describe("Allows tools to write and remove files."),
    }),

    async start({ root, writable }) {
      const place = await allowed.find(root, { write: writable });
      // Fails now, and not with the first call, if the folder is missing or is not a folder.
      await (await place.openFolder([], { create: writable })).close();
      return place;
    },

    tools: {
      list: {
        description: "Lists a folder with types and sizes.",
        tags: ["files", "read"],
        idempotent: true,
        input: z.object({ path: path.default(".") }),
        run: (args, { resource }) => listFolder(resource, args.path),
      },
      read: {
        description: "Reads a file as text, or as base64 from a position.",
        tags: ["files", "read"],
        idempotent: true,
        input: z.object({
          path: path.min(1),
          encoding: z.enum(["utf8", "base64"]).default("utf8"),
          offset: z.int().min(0).default(0).describe("Bytes to skip."),
        }),
        run: (args, { resource }) => readPart(resource, args),
      },
      write: {
        description: "Writes a whole file and creates folders as needed.",
        tags: ["files", "write"],
        idempotent: true,
        input: z.object({
          path: path.min(1),
          content: z.string(),
          encoding: z.enum(["utf8", "base64"]).default("utf8"),
        }),
        when: isWritable,
        run: (args, { resource }) => writeWhole(resource, args.path, toBytes(args.content, args.encoding)),
      },
      remove: {
        description: "Removes a file or an empty folder.",
        tags: ["files", "write"],
        input: z.object({ path: path.min(1) }),
        when: isWritable,
        run: (args, { resource }) => remove(resource, args.path),
      },
    },
  });
}
