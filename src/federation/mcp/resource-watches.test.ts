import { expect, test } from "vitest";
import { ResourceWatches } from "./resource-watches.ts";

function start() {
  const calls: string[] = [];
  const watches = new ResourceWatches(async (uri, isWatched) => {
    calls.push(`${isWatched ? "+" : "-"}${uri}`);
    if (uri.startsWith("workspace:")) throw new Error("cannot be watched");
  });
  const listen = (...uris: unknown[]) =>
    watches.begin({
      method: "subscriptions/listen",
      params: { notifications: { toolsListChanged: true, resourceSubscriptions: uris } },
    });
  return { calls, watches, listen };
}

test("a resource is watched once for all streams, from the first to the last", async () => {
  const { calls, listen } = start();

  const [one, two] = await Promise.all([listen("a:1", "a:2", "a:1"), listen("a:1")]);
  one.end();
  one.end();
  expect(calls).toEqual(["+a:1", "+a:2", "-a:2"]);

  two.end();
  expect(calls.at(-1)).toBe("-a:1");
  await listen("a:1");
  expect(calls.at(-1)).toBe("+a:1");
});

test("a resource that cannot be watched is removed from the request", async () => {
  const { listen, calls } = start();

  const { body, end } = await listen("workspace:///notes.md", 7, "a:1");
  end();

  expect(body).toMatchObject({ params: { notifications: { toolsListChanged: true, resourceSubscriptions: ["a:1"] } } });
  expect(calls).toEqual(["+workspace:///notes.md", "+a:1", "-a:1"]);
});

test("a resource that is not watched in time is removed from the request, delays no other, and is unwatched later", async () => {
  const calls: string[] = [];
  let answer = () => {};
  const watch = (uri: string, isWatched: boolean) => {
    calls.push(`${isWatched ? "+" : "-"}${uri}`);
    return uri === "a:1" ? Promise.resolve() : new Promise<void>((resolve) => (answer = resolve));
  };
  const watches = new ResourceWatches(watch, 10);
  const params = { notifications: { resourceSubscriptions: ["hung:1", "a:1"] } };

  const { body, end } = await watches.begin({ method: "subscriptions/listen", params });

  expect(body).toMatchObject({ params: { notifications: { resourceSubscriptions: ["a:1"] } } });
  end();
  expect(calls).toEqual(["+hung:1", "+a:1", "-a:1"]);
  answer();
  await expect.poll(() => calls.at(-1)).toBe("-hung:1");
});

test("other requests are returned unchanged", async () => {
  const { watches, calls } = start();
  const bodies = [
    undefined,
    [],
    { method: "tools/list" },
    { method: "subscriptions/listen", params: { notifications: 1 } },
  ];
  for (const body of bodies) expect((await watches.begin(body)).body).toBe(body);
  expect(calls).toEqual([]);
});
