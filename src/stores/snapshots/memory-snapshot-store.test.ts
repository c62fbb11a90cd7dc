import { createMemorySnapshotStore } from "./memory-snapshot-store.ts";
import { testSnapshotStore } from "./snapshot-store.suite.ts";

testSnapshotStore("memory snapshot store", {
  open: async () => createMemorySnapshotStore(),
  newPlace: () => "",
  isPersistent: false,
});
