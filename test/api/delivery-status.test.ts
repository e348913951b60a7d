import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatDeliveryStatus } from "../../src/api/webhook-health/attempts.ts";

describe("delivery status", () => {
  it("describes the next attempt of a delivery", () =>
    assert.deepEqual(
      [
        formatDeliveryStatus({ outcome: "retrying", next_attempt_at: 1, webhook_status: "ACTIVE" }, 1),
        formatDeliveryStatus({ outcome: "retrying", next_attempt_at: 1, webhook_status: "DELETED" }, 1),
        formatDeliveryStatus({ outcome: "skipped_not_allowed", next_attempt_at: null, webhook_status: "ACTIVE" }, 0),
        formatDeliveryStatus({ outcome: "skipped_not_allowed", next_attempt_at: null, webhook_status: "ACTIVE" }, 1),
      ],
      ["retrying", "will be skipped", "not sent: address not allowed", "skipped: address was not allowed"],
    ));
});
