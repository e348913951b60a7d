import * as z from "zod";
import { assumed } from "../../basis.ts";
import { ContractStatus } from "../../contracts/shapes/records.ts";
import { events, operation } from "../../operation.ts";
import { emulator } from "../../services.ts";
import { timestamp } from "../../timestamp.ts";
import { Clock } from "../clock.ts";
import { deliveryEventFields } from "../deliveries.ts";
import { Email } from "../emails.ts";
import { Fault } from "../faults.ts";
import { LoggedRequest } from "../requests.ts";
import { Snapshot } from "../state/snapshots.ts";

const ours = assumed("The control plane is part of the emulator.");

const id = z.string().describe("Value for `after`: identifies the run of the emulator and counts up");
const at = timestamp.describe("Virtual time");
/** What names one thing among others: request:12, T-1, delivery:3. */
const ref = (of: string) => z.string().describe(of);

const ContractEvent = z.strictObject({
  contract_id: z.int(),
  contract_name: z.string(),
  contract_status: ContractStatus,
  status_before: ContractStatus.nullable().describe("Status before this change; null if the delivery is new"),
  cluster_id: z.string(),
  workspace_id: z.int(),
  deleted: z.boolean(),
});

const DeviceEvent = z.strictObject({
  user_code: z.string().describe("User code that the device shows"),
  client_id: z.string(),
  status: z.enum(["PENDING", "AUTHORIZED", "DENIED"]),
  cluster_id: z.string().nullable(),
  expires_at: timestamp,
  redeemed: z.boolean().describe("The device has its tokens"),
});

const empty = z.null().describe("For no contract in particular");

/** What went on, each kind with what it brought. */
const EmulatorEvent = z.discriminatedUnion("event", [
  z
    .strictObject({ id, at, event: z.literal("begin"), ref: empty })
    .describe("First event of a new stream; later changes follow"),
  z
    .strictObject({ id, at, event: z.literal("resync"), ref: empty })
    .describe("Events were dropped: reload all state. Later events follow"),
  z
    .strictObject({ id, at, event: z.literal("state"), ref: empty })
    .describe("The state was replaced by a restore, an import or a reset: reload all state"),
  z
    .strictObject({ id, at, event: z.literal("request"), ref: ref("request:12"), request: LoggedRequest })
    .describe("A request was handled; requests that only read from the control plane are not reported"),
  z
    .strictObject({
      id,
      at,
      event: z.literal("delivery"),
      ref: ref("delivery:3"),
      delivery: z.strictObject(deliveryEventFields),
    })
    .describe("A delivery is new, was attempted, or changed otherwise"),
  z.strictObject({ id, at, event: z.literal("contract"), ref: ref("T-1"), contract: ContractEvent }),
  z.strictObject({ id, at, event: z.literal("email"), ref: ref("email:4"), email: Email }),
  z.strictObject({ id, at, event: z.literal("device"), ref: ref("device:WDJB-MJHT"), device: DeviceEvent }),
  z
    .strictObject({ id, at, event: z.literal("clock"), ref: empty, clock: Clock })
    .describe("The time, the mode of the clock or the next due entry changed"),
  z
    .strictObject({ id, at, event: z.literal("faults"), ref: empty, faults: z.array(Fault) })
    .describe("All current items"),
  z
    .strictObject({ id, at, event: z.literal("snapshots"), ref: empty, snapshots: z.array(Snapshot) })
    .describe("All current items"),
]);

export const followEvents = operation({
  id: "events.watch",
  service: emulator,
  summary: "Follow all events, or resume a stream that ended",
  description:
    "One stream of requests, deliveries, contracts, e-mails, devices, the clock, faults and snapshots. Events are sent once they are durable. To resume an ended stream, send its last ID as `after` or in the header Last-Event-ID, within a minute. If the ID is too old, or from another run, the first event is resync.",
  method: "GET",
  path: "/_emulator/events",
  auth: "control-token",
  request: {
    query: z.object({ after: z.string().max(100).optional().describe("Resume after the event with this id") }),
  },
  responses: { 200: events(EmulatorEvent) },
  failures: [],
  cli: { command: "emulator events", columns: ["id", "at", "event", "ref"] },
  basis: ours,
  examples: [{ title: "Follow all events" }, { title: "Resume an ended stream", query: { after: "5f3a9c1b-17" } }],
});
