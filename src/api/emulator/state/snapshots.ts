import * as z from "zod";
import { assumed } from "../../basis.ts";
import { exactlyOne } from "../../choices.ts";
import { dictionary } from "../../dictionary.ts";
import { empty, json, operation } from "../../operation.ts";
import { emulator } from "../../services.ts";
import { timestamp } from "../../timestamp.ts";

const ours = assumed("The control plane is the emulator's own.");

const anyName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    "a name is of letters, digits, dots, hyphens and underscores, begins with a letter or a digit, and has no more than 64 characters",
  )
  .describe("Name of at most 64 letters, digits, dots, hyphens and underscores");

/** What is kept at a restore has names of the emulator's own. */
const ownName = anyName
  .regex(/^(?!before-\d+$)/i, "before-1, before-2, … are what a restore keeps")
  .describe("Name of at most 64 letters, digits, dots, hyphens and underscores");

export const Snapshot = z.strictObject({
  name: z.string(),
  at: timestamp.nullable().describe("Virtual time in it; null: the document does not say, so it is damaged or none"),
  saved_at: timestamp.nullable().describe("When it was saved, on the wall clock; null with --deterministic"),
  bytes: z.int().describe("Size of its document"),
  file: z.string().nullable().describe("Where it lies; null: in memory, and gone with the emulator"),
});

const params = z.object({ name: anyName });

const columns = ["name", "at", "saved_at", "bytes", { name: "file", cut: 1 }] as const;

export const saveSnapshot = operation({
  id: "snapshots.save",
  service: emulator,
  summary: "Save the present state under a name",
  description:
    "Saves the whole state: rows, mappings, virtual time, scheduled work, faults, the ID sequence and uploads. Requests are not held up. Snapshots are stored next to the state. Those of an emulator in memory end with it.",
  method: "PUT",
  path: "/_emulator/snapshots/{name}",
  auth: "control-token",
  request: {
    params: z.object({ name: ownName }),
    query: z.object({ replace: z.boolean().default(false).describe("Replace a snapshot of the same name") }),
  },
  responses: { 201: json(Snapshot) },
  failures: ["snapshot-there"],
  cli: { command: "emulator snapshot save", columns },
  basis: ours,
  examples: [{ title: "Keep what was prepared, for every test to begin from", params: { name: "prepared" } }],
});

export const listSnapshots = operation({
  id: "snapshots.list",
  service: emulator,
  summary: "List the snapshots",
  method: "GET",
  path: "/_emulator/snapshots",
  auth: "control-token",
  request: {},
  responses: { 200: json(z.array(Snapshot)) },
  failures: [],
  cli: { command: "emulator snapshot list", columns },
  basis: ours,
  examples: [{ title: "What can be gone back to?" }],
});

const Whole = z.strictObject({
  ...Snapshot.shape,
  written_by: z.string().describe("Version of svc that wrote it"),
  rows: dictionary(z.int()).describe("How many, by collection; empty ones are left out"),
  mappings: dictionary(z.int()).describe("How many identifiers, by table; empty ones are left out"),
  faults: z.int().describe("How many are scripted"),
});

export const showSnapshot = operation({
  id: "snapshots.show",
  service: emulator,
  summary: "Check a snapshot, and show what it holds",
  description: "Fails if the snapshot cannot be restored.",
  method: "GET",
  path: "/_emulator/snapshots/{name}",
  auth: "control-token",
  request: { params },
  responses: { 200: json(Whole) },
  failures: ["no-such-snapshot", "unusable-snapshot"],
  cli: { command: "emulator snapshot show", columns: ["name", "at", "saved_at", "bytes", "written_by", "file"] },
  basis: ours,
  examples: [{ title: "Is it whole?", params: { name: "prepared" } }],
});

const FieldChange = z.strictObject({
  field: z.string().describe("Its path: signatories[0].action"),
  from: z.unknown().optional(),
  to: z.unknown().optional(),
});

const Diff = z.strictObject({
  from: z.string(),
  to: z.string().nullable().describe("Null: the present state"),
  same: z.boolean().describe("Nothing is different"),
  items: z.array(
    z.strictObject({
      what: z.string().describe("In words: contract T-1: DRAFT → SIGN"),
      collection: z.string(),
      key: z.string().nullable().describe("Of the row; null: a table of identifiers, the numbers, a secret"),
      change: z.enum(["new", "changed", "gone"]),
      fields: z.array(FieldChange).describe("Without secrets, long values cut; of a new row its plain fields"),
    }),
  ),
  total: z.int(),
});

export const diffSnapshot = operation({
  id: "snapshots.diff",
  service: emulator,
  summary: "Compare a snapshot with the present state or another one",
  description:
    "Words of the domain first, rows and fields below. That time has passed by itself is no difference, nor is what " +
    "only tells how something came about.",
  method: "GET",
  path: "/_emulator/snapshots/{name}/diff",
  auth: "control-token",
  request: {
    params,
    query: z.object({
      to: anyName.optional().describe("The other snapshot; left out: the present state"),
      most: z.int().min(1).max(100_000).default(1_000).describe("Maximum number of differences"),
    }),
  },
  responses: { 200: json(Diff) },
  failures: ["no-such-snapshot", "unusable-snapshot"],
  cli: { by: "emulator snapshot diff" },
  basis: ours,
  examples: [{ title: "What has the test changed?", params: { name: "prepared" } }],
});

const Restored = z.strictObject({
  name: z.string(),
  now: timestamp.describe("Virtual time from which it goes on"),
  backup_snapshot: z
    .string()
    .nullable()
    .describe("The snapshot that holds the state which was left; null: it was the same"),
  dropped: z
    .array(z.strictObject({ kind: z.string(), ref: z.string() }))
    .describe("What of the schedule was under way: its outcome is of the state that was left, and was dropped"),
});

export const restoreSnapshot = operation({
  id: "snapshots.restore",
  service: emulator,
  summary: "Restore a snapshot",
  description:
    "Restores the state of the snapshot; time and IDs continue from there. The current state is saved first as snapshot before-1 (ten are kept). Request log and inboxes are not restored. The outcome of requests and attempts in progress is discarded.",
  method: "POST",
  path: "/_emulator/snapshots/{name}/restore",
  auth: "control-token",
  role: "admin",
  request: { params },
  responses: { 200: json(Restored) },
  failures: ["no-such-snapshot", "unusable-snapshot"],
  cli: { command: "emulator snapshot restore", columns: ["name", "now", "backup_snapshot"] },
  basis: ours,
  examples: [{ title: "Begin the next test from what was prepared", params: { name: "prepared" } }],
});

export const removeSnapshot = operation({
  id: "snapshots.remove",
  service: emulator,
  summary: "Remove a snapshot",
  method: "DELETE",
  path: "/_emulator/snapshots/{name}",
  auth: "control-token",
  role: "admin",
  request: { params },
  responses: { 204: empty() },
  failures: ["no-such-snapshot"],
  cli: { command: "emulator snapshot remove", confirm: "yes" },
  basis: ours,
  examples: [{ title: "It is not needed any more", params: { name: "prepared" } }],
});

const RewindTarget = exactlyOne(
  z.object({
    to: z.iso.datetime({ offset: true }).optional().describe("Virtual time to go back to, ISO 8601"),
    before: z
      .string()
      .regex(/^[a-z]{1,20}:\d{1,15}$/, "a cause is meant, such as request:12")
      .optional()
      .describe("Cause to undo, as a trace names it: request:12, advance:3"),
    steps: z.int().min(1).max(1_000_000).optional().describe("Number of changing requests and clock advances to undo"),
  }),
  "to",
  "before",
  "steps",
);

const Rewound = z.strictObject({
  now: timestamp.describe("Virtual time from which it goes on"),
  backup_snapshot: z
    .string()
    .nullable()
    .describe("The snapshot that holds the state which was left; null: nothing was taken back"),
  undone: z.int().describe("How many requests and moves of time were taken back"),
  dropped: Restored.shape.dropped,
});

export const rewind = operation({
  id: "snapshots.rewind",
  service: emulator,
  summary: "Restore the state from before a request, a time or N steps",
  description:
    "Restores the state from before a request, a time or N steps. The current state is saved first as snapshot before-1 (ten are kept). Faults, request log and inboxes are not rewound. The history reaches back as far as --history of svc emulator start allows. The outcome of requests and attempts in progress is discarded.",
  method: "POST",
  path: "/_emulator/rewind",
  auth: "control-token",
  role: "admin",
  request: { body: json(RewindTarget) },
  responses: { 200: json(Rewound) },
  failures: ["no-history", "beyond-history", "not-behind"],
  cli: { command: "emulator rewind", columns: ["now", "backup_snapshot", "undone"] },
  basis: ours,
  examples: [
    { title: "Take the last request back that changed anything", body: { steps: 1 } },
    { title: "To before that request", body: { before: "request:12" } },
  ],
});
