import * as z from "zod";
import { contractStatus } from "../contracts/shapes.ts";
import { controlRoles } from "../control-plane.ts";
import { bytes, defineOperation, empty, events, html, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { timestamp } from "../shapes.ts";
import { Clock } from "./clock.ts";
import { deliveryEventFields } from "./deliveries.ts";
import { Email } from "./emails.ts";
import { Fault } from "./faults.ts";
import { LoggedRequest } from "./requests.ts";
import { Device } from "./shapes.ts";
import { Snapshot } from "./snapshots.ts";

const basis = { assumed: "The console is part of the emulator." };

export const makeSessionCode = defineOperation({
  id: "sessions.code",
  ...controlOperation,
  summary: "Create a one-time sign-in code for the console",
  method: "POST",
  path: "/_emulator/sessions/codes",
  role: "read",
  responses: {
    201: json(
      z.strictObject({
        code: z.string(),
        url: z
          .url()
          .describe("URL of the console with the code in its fragment, which browsers do not send to servers"),
        expires_in: z.int().describe("Seconds by the wall clock until the code expires"),
      }),
    ),
  },
  cli: { by: "emulator open" },
  basis,
  examples: [],
});

export const beginSession = defineOperation({
  id: "sessions.begin",
  ...controlOperation,
  summary: "Exchange a console code for a session",
  description:
    "The session token has the role of the token that opened it. It is valid until that token is revoked, twelve hours have passed, or the session or the emulator ends. It works only together with its cookie: browsers send a cookie to every port of this machine, and scripts can read the storage of a page.",
  method: "POST",
  path: "/_emulator/sessions",
  auth: "none",
  request: {
    body: json(z.object({ code: z.string().max(200).describe("Code from the address that svc emulator open prints") })),
  },
  responses: {
    201: json(
      z.strictObject({
        token: z.string().describe("Value for the header authorization, after `Bearer `"),
        role: z.enum(controlRoles).describe("Role of the session, taken from the token that opened it"),
        instance_id: z.string().describe("ID of the emulator that the session belongs to"),
      }),
    ),
  },
  failures: ["invalid-session-code"],
  cli: { command: "emulator console session" },
  basis,
  examples: [{ title: "Exchange a code for a session", body: { code: "c0de" } }],
});

export const endSession = defineOperation({
  id: "sessions.end",
  ...controlOperation,
  summary: "Sign out of the console",
  description:
    "Ends the session of the request. A token of the control plane ends its own sessions and codes. A token with the role admin ends all sessions.",
  method: "DELETE",
  path: "/_emulator/sessions",
  role: "read",
  responses: { 204: empty() },
  cli: { command: "emulator console sign-out" },
  basis,
  examples: [{ title: "Sign out every browser" }],
});

export const showConsolePage = defineOperation({
  id: "console.page",
  ...controlOperation,
  summary: "Show the page of the console",
  description:
    "The page contains no state. It requests its data with the session of its user. `svc emulator open` opens it.",
  path: "/_emulator/ui/",
  auth: "none",
  responses: { 200: html() },
  cli: { command: "emulator console page" },
  basis,
  examples: [{ title: "Save the page" }],
});

export const showConsoleAsset = defineOperation({
  id: "console.asset",
  ...controlOperation,
  summary: "Get a file of the console page",
  description: "The name changes with the content, so browsers may cache the file forever.",
  path: "/_emulator/ui/assets/{name}",
  auth: "none",
  request: { params: z.object({ name: z.string().describe("Name of the asset, as the page links to it") }) },
  responses: { 200: bytes("application/octet-stream") },
  failures: ["no-such-asset"],
  cli: { command: "emulator console asset" },
  basis,
  examples: [{ title: "Get the icon of the page", params: { name: "icon-5XJ2K7QD.svg" } }],
});

const id = z.string().describe("Value for `after`: identifies the run of the emulator and counts up");
const at = timestamp.describe("Virtual time");

const ContractEvent = z.strictObject({
  contract_id: z.int(),
  contract_name: z.string(),
  contract_status: contractStatus,
  status_before: contractStatus.nullable().describe("Status before this change; null if the contract is new"),
  cluster_id: z.string(),
  workspace_id: z.int(),
  deleted: z.boolean(),
});

const noContract = z.null().describe("Applies to no particular contract");
/** Creates the schema of a reference to an object, such as request:12, T-1 or delivery:3. */
const describeReference = (of: string) => z.string().describe(of);

const defineEvent = <const Name extends string, Ref extends z.ZodType, Fields extends z.ZodRawShape>(
  event: Name,
  ref: Ref,
  fields: Fields,
) => z.strictObject({ id, at, event: z.literal(event), ref, ...fields });

/** Events, discriminated by kind. */
const EmulatorEvent = z.discriminatedUnion("event", [
  defineEvent("begin", noContract, {}).describe("First event of a new stream; later changes follow"),
  defineEvent("resync", noContract, {}).describe("Events were dropped: reload all state. Later events follow"),
  defineEvent("state", noContract, {}).describe(
    "The state was replaced by a restore, an import or a reset: reload all state",
  ),
  defineEvent("request", describeReference("request:12"), { request: LoggedRequest }).describe(
    "A request was handled; requests that only read from the control plane are not reported",
  ),
  defineEvent("delivery", describeReference("delivery:3"), { delivery: z.strictObject(deliveryEventFields) }).describe(
    "A delivery is new, was attempted, or changed otherwise",
  ),
  defineEvent("contract", describeReference("T-1"), { contract: ContractEvent }),
  defineEvent("email", describeReference("email:4"), { email: Email }),
  defineEvent("device", describeReference("device:WDJB-MJHT"), { device: Device }),
  defineEvent("clock", noContract, { clock: Clock }).describe(
    "The time, the mode of the clock or the next due entry changed",
  ),
  defineEvent("faults", noContract, { faults: z.array(Fault) }).describe("All current items"),
  defineEvent("snapshots", noContract, { snapshots: z.array(Snapshot) }).describe("All current items"),
]);

export const followEvents = defineOperation({
  id: "events.watch",
  ...controlOperation,
  summary: "Follow all events, or resume a stream that ended",
  description:
    "One stream of requests, deliveries, contracts, e-mails, devices, the clock, faults and snapshots. Events are sent once they are durable. To resume an ended stream, send its last ID as `after` or in the header Last-Event-ID, within a minute. If the ID is too old, or from another run, the first event is resync.",
  path: "/_emulator/events",
  request: {
    query: z.object({ after: z.string().max(100).optional().describe("Resume after the event with this ID") }),
  },
  responses: { 200: events(EmulatorEvent) },
  cli: { command: "emulator events", columns: ["id", "at", "event", "ref"] },
  examples: [{ title: "Follow all events" }, { title: "Resume an ended stream", query: { after: "5f3a9c1b-17" } }],
});
