import fc from "fast-check";
import { expect, test } from "vitest";
import { TokenBucket } from "./token-bucket.ts";

const rates = { perSecond: fc.integer({ min: 1, max: 1000 }), burst: fc.integer({ min: 1, max: 50 }) };

test("in any time span, a bucket gives at most its burst and its rate", () => {
  fc.assert(
    fc.property(fc.record(rates), fc.array(fc.integer({ min: -50, max: 500 })), ({ perSecond, burst }, steps) => {
      const bucket = new TokenBucket({ perSecond, burst, now: 0 });
      let [now, passed, taken] = [0, 0, 0];
      for (const step of steps) {
        now += step;
        passed += Math.max(0, step);
        while (bucket.take(now) === 0) taken += 1;
        expect(taken).toBeLessThanOrEqual(burst + (passed / 1000) * perSecond + 1e-6);
      }
    }),
  );
});

test("a caller that waits as long as it was told is served", () => {
  fc.assert(
    fc.property(fc.record(rates), fc.nat({ max: 5000 }), ({ perSecond, burst }, spent) => {
      const bucket = new TokenBucket({ perSecond, burst, now: 0 });
      bucket.spend(0, spent);
      expect(bucket.take(bucket.waitMs(0, 1))).toBe(0);
    }),
  );
});

test("an amount that was used already leaves a debt", () => {
  const bucket = new TokenBucket({ perSecond: 100, burst: 100, now: 0 });
  bucket.spend(0, 300);
  expect(bucket.waitMs(0, 0)).toBe(2000);
  expect(bucket.isFull(4000)).toBe(true);
});
