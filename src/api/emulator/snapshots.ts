import * as z from "zod";
import { defineOperation, empty, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { dictionary, nullableString, requireExactlyOne, timestamp } from "../shapes.ts";

const anyName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "must be at most 64 letters, digits, dots, hyphens and underscores, and begin with a letter or a digit",
  )
  .describe("Name of at most 64 letters, digits, dots, hyphens and underscores");

/** Restores save snapshots under names that the emulator chooses. */
const ownName = anyName
  .regex(/^(?!before-\d+$)/i, "before-1, before-2, … are reserved for snapshots that a restore saves")
  .describe("Name of at most 64 letters, digits, dots, hyphens and underscores");

export const Snapshot = z.strictObject({
  name: z.string(),
  at: timestamp.nullable().describe("Virtual time of the snapshot; null if it is damaged"),
  saved_at: timestamp.nullable().describe("Wall time of saving; null with --deterministic"),
  bytes: z.int().describe("Size of the document in bytes"),
  file: nullableString.describe("Path of the file; null in memory"),
});

const params = z.object({ name: anyName });

const columns = ["name", "at", "saved_at", "bytes", { name: "file", shrinkPriority: 1 }] as const;

export const saveSnapshot = defineOperation({
  id: "snapshots.save",
  ...controlOperation,
  summary: "Save the current state under a name",
  description:
    "Saves the whole state: rows, mappings, virtual time, scheduled work, faults, the ID sequence and uploads. Requests are not blocked. Snapshots are stored next to the state. Snapshots of an emulator in memory end with it.",
  method: "PUT",
  path: "/_emulator/snapshots/{name}",
  request: {
    params: z.object({ name: ownName }),
    query: z.object({
      replace: z.boolean().default(false).describe("Replace a snapshot of the same name (role admin)"),
    }),
  },
  responses: { 201: json(Snapshot) },
  failures: ["snapshot-exists"],
  cli: { command: "emulator snapshot save", columns },
  examples: [{ title: "Save a starting state for tests", params: { name: "prepared" } }],
});

export const listSnapshots = defineOperation({
  id: "snapshots.list",
  ...controlOperation,
  summary: "List the snapshots",
  path: "/_emulator/snapshots",
  responses: { 200: json(z.array(Snapshot)) },
  cli: { command: "emulator snapshot list", columns },
  examples: [{ title: "List the snapshots" }],
});

const Whole = z.strictObject({
  ...Snapshot.shape,
  written_by: z.string().describe("Version of svc that wrote it"),
  rows: dictionary(z.int()).describe("Number of rows by collection, without empty collections"),
  mappings: dictionary(z.int()).describe("Number of identifiers by table, without empty tables"),
  faults: z.int().describe("Number of faults"),
});

export const showSnapshot = defineOperation({
  id: "snapshots.show",
  ...controlOperation,
  summary: "Validate a snapshot and show its contents",
  description: "Fails if the snapshot cannot be restored.",
  path: "/_emulator/snapshots/{name}",
  request: { params },
  responses: { 200: json(Whole) },
  failures: ["no-such-snapshot", "unusable-snapshot"],
  cli: { command: "emulator snapshot show", columns: ["name", "at", "saved_at", "bytes", "written_by", "file"] },
  examples: [{ title: "Validate a snapshot", params: { name: "prepared" } }],
});

const FieldChange = z.strictObject({
  field: z.string().describe("Path of the field: signatories[0].action"),
  from: z.unknown().optional(),
  to: z.unknown().optional(),
});

const Diff = z.strictObject({
  from: z.string(),
  to: nullableString.describe("Other snapshot; null for the current state"),
  same: z.boolean().describe("True: no differences"),
  items: z.array(
    z.strictObject({
      what: z.string().describe("Description: contract T-1: DRAFT → SIGN"),
      collection: z.string(),
      key: nullableString.describe("Key of the row; null for identifiers, sequences and secrets"),
      change: z.enum(["new", "changed", "gone"]),
      fields: z
        .array(FieldChange)
        .describe(
          "Changed fields, or the plain fields of a new row. Secrets are omitted, and long values are shortened",
        ),
    }),
  ),
  total: z.int(),
});

export const diffSnapshot = defineOperation({
  id: "snapshots.diff",
  ...controlOperation,
  summary: "Compare a snapshot with the current state or another one",
  description: "Domain changes come first, then rows and fields. Elapsed time and trace data are ignored.",
  path: "/_emulator/snapshots/{name}/diff",
  request: {
    params,
    query: z.object({
      to: anyName.optional().describe("Snapshot to compare with (default: the current state)"),
      limit: z.int().min(1).max(100_000).default(1_000).describe("Maximum number of differences"),
    }),
  },
  responses: { 200: json(Diff) },
  failures: ["no-such-snapshot", "unusable-snapshot"],
  cli: { by: "emulator snapshot diff" },
  examples: [{ title: "Show the changes of a test", params: { name: "prepared" } }],
});

const RestoreResult = z.strictObject({
  name: z.string(),
  now: timestamp.describe("Virtual time of the restored state"),
  backup_snapshot: nullableString.describe("Snapshot of the previous state; null if it was identical"),
  dropped: z
    .array(z.strictObject({ kind: z.string(), ref: z.string() }))
    .describe("Scheduled work in progress, whose outcome was discarded"),
});

export const restoreSnapshot = defineOperation({
  id: "snapshots.restore",
  ...controlOperation,
  summary: "Restore a snapshot",
  description:
    "Restores the state of the snapshot; time and IDs continue from there. The current state is saved first as snapshot before-N (ten are kept). Request log and inboxes are not restored. The outcome of requests and attempts in progress is discarded.",
  method: "POST",
  path: "/_emulator/snapshots/{name}/restore",
  role: "admin",
  request: { params },
  responses: { 200: json(RestoreResult) },
  failures: ["no-such-snapshot", "unusable-snapshot"],
  cli: { command: "emulator snapshot restore", columns: ["name", "now", "backup_snapshot"] },
  examples: [{ title: "Restore the starting state", params: { name: "prepared" } }],
});

export const removeSnapshot = defineOperation({
  id: "snapshots.remove",
  ...controlOperation,
  summary: "Remove a snapshot",
  method: "DELETE",
  path: "/_emulator/snapshots/{name}",
  role: "admin",
  request: { params },
  responses: { 204: empty() },
  failures: ["no-such-snapshot"],
  cli: { command: "emulator snapshot remove", confirm: "yes" },
  examples: [{ title: "Remove a snapshot", params: { name: "prepared" } }],
});

const RewindTarget = requireExactlyOne(
  z.object({
    to: z.iso.datetime({ offset: true }).optional().describe("Virtual time to rewind to, ISO 8601"),
    before: z
      .string()
      .regex(/^[a-z]{1,20}:\d{1,15}$/, "must be a cause (request:12, advance:3)")
      .optional()
      .describe("Cause to undo, as a trace names it: request:12, advance:3"),
    steps: z.int().min(1).max(1_000_000).optional().describe("Number of changing requests and clock advances to undo"),
  }),
  "to",
  "before",
  "steps",
);

const Rewound = z.strictObject({
  now: timestamp.describe("Virtual time of the restored state"),
  backup_snapshot: nullableString.describe("Snapshot of the previous state; null if nothing was undone"),
  undone: z.int().describe("Number of undone requests and clock advances"),
  steps: z
    .array(
      z.strictObject({
        id: z.string().describe("Cause, as a trace names it: request:12"),
        at: timestamp.describe("Virtual time"),
        what: z.string().describe("Operation and request line: contracts.send POST /api/v2.1/…"),
        contract: nullableString.describe("The contract that it concerned; null if there is none, or several"),
      }),
    )
    .describe("The undone requests and clock advances, newest first, at most 100"),
  dropped: RestoreResult.shape.dropped,
});

export const rewind = defineOperation({
  id: "snapshots.rewind",
  ...controlOperation,
  summary: "Restore the state from before a request, a time or N steps",
  description:
    "A step is a request or a clock advance that changed the state. The current state is saved first as snapshot before-N (ten are kept). Tokens, faults, request log and inboxes are not rewound. The history reaches back as far as SVC_HISTORY of svc emulator start allows. The outcome of requests and attempts in progress is discarded.",
  method: "POST",
  path: "/_emulator/rewind",
  role: "admin",
  request: { body: json(RewindTarget) },
  responses: { 200: json(Rewound) },
  failures: ["no-history", "rewind-out-of-range", "time-in-future"],
  cli: { command: "emulator rewind", columns: ["now", "backup_snapshot", "undone"] },
  examples: [
    { title: "Undo the last change", body: { steps: 1 } },
    { title: "Undo a request and all later changes", body: { before: "request:12" } },
  ],
});
