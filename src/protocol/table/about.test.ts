import { expect, test } from "vitest";
import * as z from "zod";
import { ask, call, capability } from "./capability.ts";

const shape = {
  doc: "Prints.",
  request: z.object({ printer: z.string(), pages: z.array(z.string()).default([]) }),
  result: z.object({ ok: z.boolean() }),
  example: { request: { printer: "office" }, result: { ok: true } },
};

test("a call without `about` does not compile, and throws in code without types", () => {
  // @ts-expect-error about is required
  expect(() => call("print/req", "print/resp", shape)).toThrow('print/req needs an "about"');
});

test("a resource is named by a field of the request, or by a place within it", () => {
  const about = { access: "write", resource: "printer", from: "pages.*" } as const;
  expect(call("print/req", "print/resp", { ...shape, about }).about).toBe(about);
  // @ts-expect-error the request has no field of this name
  call("print/req", "print/resp", { ...shape, about: { ...about, from: "printr" } });
  // @ts-expect-error a call that needs no right cannot be about a resource
  call("print/req", "print/resp", { ...shape, about: { access: "none", resource: "printer", from: "printer" } });
});

test("an ask needs no right, since the host asks", () => {
  expect(ask("print/ask", "print/answer", shape).about).toEqual({ access: "none" });
});

test("a kind of resource that the capability does not list is rejected", () => {
  const print = call("print/req", "print/resp", {
    ...shape,
    about: { access: "write", resource: "printer", from: "printer" },
  });
  expect(() => capability("print", { doc: "Prints.", calls: { print } })).toThrow(
    'print/req is about a resource "printer", which "print" does not list in resources',
  );
  const resources = { printer: "A printer, by its name." };
  expect(capability("print", { doc: "Prints.", resources, calls: { print } }).resources).toBe(resources);
});
