// The public subpath `a2e/testing`: for whoever writes plugins, tools or agents, with any test runner.
export { type CapturedLog, createCapturedLog, type LogEntry } from "../testing/captured-log.ts";
export { createFakeClock, type FakeClock } from "../testing/fake-clock.ts";
export { createFakeIds } from "../testing/fake-ids.ts";
export { type ResourceWatch, watchResources } from "../testing/leaks.ts";
export { type RecordedWire, recordWire, type WireRecord } from "../testing/recorded-wire.ts";
export {
  startHost,
  type TestClient,
  type TestClientOptions,
  type TestHost,
  type TestHostOptions,
} from "../testing/start-host.ts";
