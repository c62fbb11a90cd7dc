import { expect, test } from "vitest";
import { core } from "../protocol/core.ts";
import { connectFake } from "./fake-transport.suite.ts";
import { withApis } from "./with-apis.ts";

test("the API of a table is made once per client, and added to it under the table's name", async () => {
  const { client } = await connectFake();
  expect(client.use(core)).toBe(client.use(core));
  const extended = withApis(client, { core });
  expect(extended).toBe(client);
  expect(extended.core).toBe(client.use(core));
  await client.disconnect();
});

test("adding the same tables twice is adding them once", async () => {
  const { client } = await connectFake();
  const extended = withApis(withApis(client, { core }), { core });
  expect(extended.core).toBe(client.use(core));
  await client.disconnect();
});
