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

const ours = assumed("The control plane is the emulator's own.");

const id = z.string().describe("For `after`: names the emulator's run and counts up in it");
const at = timestamp.describe("Virtual time");
/** What names one thing among others: request:12, T-1, delivery:3. */
const ref = (of: string) => z.string().describe(of);

const ContractEvent = z.strictObject({
  contract_id: z.int(),
  contract_name: z.string(),
  contract_status: ContractStatus,
  status_before: ContractStatus.nullable().describe("Before this change, which may be another one; null: it is new"),
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

const empty = z.null().describe("Of none in particular");

/** What went on, each kind with what it brought. */
const EmulatorEvent = z.discriminatedUnion("event", [
  z
    .strictObject({ id, at, event: z.literal("begin"), ref: empty })
    .describe("The first of a stream that goes on after nothing: what comes later is told from here on"),
  z
    .strictObject({ id, at, event: z.literal("resync"), ref: empty })
    .describe("What came between is told no more: ask for everything anew. Events go on after this one"),
  z
    .strictObject({ id, at, event: z.literal("state"), ref: empty })
    .describe("Another state took the place of the one there was, by a restore, an import or a reset: ask anew"),
  z
    .strictObject({ id, at, event: z.literal("request"), ref: ref("request:12"), request: LoggedRequest })
    .describe("A request was answered; those that only read from the control plane are not told"),
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
    .describe("Time was moved, passes otherwise, or something else is due next"),
  z
    .strictObject({ id, at, event: z.literal("faults"), ref: empty, faults: z.array(Fault) })
    .describe("All there are now"),
  z
    .strictObject({ id, at, event: z.literal("snapshots"), ref: empty, snapshots: z.array(Snapshot) })
    .describe("All there are now"),
]);

export const followEvents = operation({
  id: "events.watch",
  service: emulator,
  summary: "Follow all events, or resume a stream that ended",
  description:
    "One stream of requests, deliveries, contracts, e-mails, devices, the clock, faults and snapshots, each sent once it is durable. To resume an ended stream, send its last ID as `after` or in the header Last-Event-ID, within a minute. If the ID is too old, or from another run, the first event is resync.",
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
  examples: [{ title: "What goes on?" }, { title: "Go on where it ended", query: { after: "5f3a9c1b-17" } }],
});
