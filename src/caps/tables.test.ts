// What must hold for every table, whichever folder it came with.
import { describe, expect, test } from "vitest";
import { toJSONSchema } from "zod";
import { core } from "../protocol/core.ts";
import { coreErrors } from "../protocol/errors.ts";
import type { Capability } from "../protocol/table/capability.ts";
import { createTypeRegistry } from "../protocol/table/registry.ts";
import { tables } from "./tables.generated.ts";

const capabilities: Capability[] = [core, ...Object.values(tables)];

test("no two tables claim one message type", () => {
  expect(() => createTypeRegistry(capabilities)).not.toThrow();
});

test("no two capabilities give one error code two meanings", () => {
  const codes = [coreErrors, ...capabilities.map(({ errors }) => errors)].flatMap((errors) => Object.keys(errors));
  expect(codes).toEqual([...new Set(codes)]);
});

test("no two capabilities have resources of one kind", () => {
  const kinds = capabilities.flatMap(({ resources }) => Object.keys(resources));
  expect(kinds).toEqual([...new Set(kinds)]);
});

test("a call that is offered as a tool that only reads needs only the right to read", () => {
  for (const { type, asTool, about } of capabilities.flatMap(({ calls }) => Object.values(calls)))
    if (asTool?.effect === "reads") expect(about.access, type).toBe("read");
});

describe.each(capabilities.map((capability) => [capability.name, capability] as const))(
  "the table of %s",
  (_, table) => {
    const calls = Object.entries(table.calls);
    const pushes = Object.entries(table.pushes);

    test("says in a sentence what each call, push and error means", () => {
      const errors = Object.entries(table === core ? coreErrors : table.errors);
      const docs = [
        ["the capability", table.doc],
        ...[...calls, ...pushes, ...errors].map(([name, { doc }]) => [name, doc]),
      ];
      for (const [name, doc] of docs) expect(doc, name).toMatch(/^\S.*\.$/);
    });

    test.each(calls)("has examples of %s that fit its schemas", (_name, { request, result, example }) => {
      expect(request.safeParse(example.request).error).toBeUndefined();
      expect(result.safeParse(example.result).error).toBeUndefined();
    });

    test("lists resources in fields that its results have", () => {
      for (const [name, { about, result }] of calls) {
        if (!("shows" in about) || about.shows === undefined) continue;
        const { at, name: field, usedBy } = about.shows;
        const list = toJSONSchema(result.shape[at] as never, { io: "input", unrepresentable: "any" });
        expect(list, name).toMatchObject({ items: { properties: { [field]: { type: "string" } } } });
        if (usedBy !== undefined) expect(table.calls[usedBy]?.about, name).toMatchObject({ resource: about.resource });
      }
    });

    if (pushes.length > 0)
      test("has examples of its pushes that fit their schemas", () => {
        for (const [name, { payload, example }] of pushes)
          expect(payload.safeParse(example).error, name).toBeUndefined();
      });

    test("has no field of a message that the envelope has", () => {
      const shapes = [
        ...calls.flatMap(([, { request, result }]) => [request.shape, result.shape]),
        // What a call goes on to say after its answer still names the call.
        ...pushes.map(
          ([
            ,
            {
              type,
              payload: { shape },
            },
          ]) => {
            const { req_id: _reqId, ...rest } = shape;
            return type.endsWith("/event") ? rest : shape;
          },
        ),
      ];
      const taken = ["type", "id", "version", "a2e", "ts", "req_id"];
      expect(shapes.flatMap((shape) => Object.keys(shape)).filter((field) => taken.includes(field))).toEqual([]);
    });

    test("mirrors only fields that its results have", () => {
      for (const [name, { mirrors, result }] of calls) {
        for (const path of Object.values(mirrors))
          expect(Object.keys(result.shape), name).toContain(path.split(".")[0]);
      }
    });
  },
);
