import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { checkPoll } from "../../../../emulator/router/device/device-grant.ts";
import type { DeviceGrant } from "../../../../emulator/router/device/rows.ts";

const grant: DeviceGrant = {
  device_code: "dc",
  user_code: "WDJBMJHT",
  client_id: "cli",
  status: "PENDING",
  cluster_id: null,
  expires_at: 900_000,
  interval: 5,
  last_poll: { at: 100_000, wall_at: 100_000 },
  claimed: false,
  redeemed: false,
};

describe("poll for device tokens", () => {
  const cases: [string, Partial<DeviceGrant>, { at: number; wall_at: number }, string][] = [
    ["is never early the first time", { last_poll: null }, { at: 100_000, wall_at: 100_000 }, "authorization-pending"],
    ["is on time after the interval", {}, { at: 105_000, wall_at: 105_000 }, "authorization-pending"],
    [
      "is on time within the timer tolerance before the interval",
      {},
      { at: 104_750, wall_at: 100_000 },
      "authorization-pending",
    ],
    ["is early before the timer tolerance", {}, { at: 104_749, wall_at: 104_749 }, "slow-down"],
    ["is on time if only the wall clock advanced", {}, { at: 100_000, wall_at: 105_000 }, "authorization-pending"],
    ["is on time if only virtual time advanced", {}, { at: 105_000, wall_at: 100_000 }, "authorization-pending"],
    ["tolerates 5 % of a long interval", { interval: 60 }, { at: 157_000, wall_at: 0 }, "authorization-pending"],
    ["tolerates 100 ms of a short interval", { interval: 1 }, { at: 100_900, wall_at: 0 }, "authorization-pending"],
    ["is early below the tolerance of a short interval", { interval: 1 }, { at: 100_899, wall_at: 0 }, "slow-down"],
    ["reports an expired code before an early poll", {}, { at: 900_000, wall_at: 100_000 }, "expired-token"],
    ["expires only by virtual time", {}, { at: 899_999, wall_at: 9e9 }, "authorization-pending"],
    ["reports an early poll before a denial", { status: "DENIED" }, { at: 100_001, wall_at: 0 }, "slow-down"],
    ["reports a denial if it is on time", { status: "DENIED" }, { at: 105_000, wall_at: 0 }, "access-denied"],
    [
      "waits during the request to the cluster",
      { status: "AUTHORIZED", cluster_id: "eu-1", claimed: true },
      { at: 105_000, wall_at: 0 },
      "authorization-pending",
    ],
    [
      "is rejected for a used code",
      { status: "AUTHORIZED", cluster_id: "eu-1", redeemed: true },
      { at: 105_000, wall_at: 0 },
      "invalid-grant",
    ],
  ];
  for (const [label, changes, now, code] of cases) {
    it(label, () => {
      const polled = checkPoll({ ...grant, ...changes }, "cli", now);
      assert.equal(polled.kind === "refused" && polled.code, code);
    });
  }

  it("adds 5 s to the interval permanently if it is early", () => {
    const early = { at: 100_001, wall_at: 100_001 };
    const first = checkPoll(grant, "cli", early);
    assert.deepEqual(first, {
      kind: "refused",
      code: "slow-down",
      grant: { ...grant, interval: 10, last_poll: early },
    });
    const second = checkPoll(first.grant, "cli", early);
    assert.deepEqual(second.grant, { ...grant, interval: 15, last_poll: early });
  });

  it("claims an authorized grant", () => {
    const authorized: DeviceGrant = { ...grant, status: "AUTHORIZED", cluster_id: "eu-1" };
    const now = { at: 105_000, wall_at: 105_000 };
    assert.deepEqual(checkPoll(authorized, "cli", now), {
      kind: "authorized",
      grant: { ...authorized, claimed: true, last_poll: now },
    });
  });

  it("is rejected for another client or an unknown code", () => {
    const now = { at: 100_001, wall_at: 100_001 };
    assert.deepEqual(checkPoll(grant, "other", now), { kind: "refused", code: "invalid-grant" });
    assert.deepEqual(checkPoll(undefined, "cli", now), { kind: "refused", code: "invalid-grant" });
  });
});
