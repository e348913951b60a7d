import type { FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, defineCommand } from "../../command.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";
import { emulatorEnv } from "./env.ts";
import { emulatorExec } from "./exec.ts";
import { emulatorOpen } from "./open.ts";
import { deliveriesResend, emulatorDeliveries, emulatorRequests, webhooksResend } from "./requests.ts";
import { emulatorStart } from "./start.ts";
import { emulatorRepair, emulatorStateExport, emulatorStateImport, snapshotDiff } from "./state.ts";
import { emulatorStatus, emulatorStop } from "./status.ts";
import { emulatorTrace } from "./trace.ts";
import { emulatorWaitFor } from "./wait-for.ts";

/** Under the verb, too, by which other groups show one thing. */
const emulatorClockShow = defineCommand({
  words: ["emulator", "clock", "show"],
  summary: "Show virtual time and what is due next",
  positionals: [],
  flags: [{ flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" }],
  examples: [{ title: "Show the virtual time", argv: ["emulator", "clock", "show"] }],
  async run({ flags }, context) {
    const { showClock } = await import("../../../api/emulator/clock.ts");
    const client = await context.client("emulator", { file: flags.file });
    await context.output.show(await client.call(showClock, {}, { signal: context.signal }), {
      columns: showClock.cli.columns,
    });
    return undefined;
  },
});

const emulatorSeedSchema = defineCommand({
  words: ["emulator", "seed-schema"],
  sendsNothing: true,
  prints: "content",
  summary: "Print the JSON Schema of seed files",
  positionals: [],
  flags: [],
  examples: [{ title: "For an editor", argv: ["emulator", "seed-schema"] }],
  async run(_, { output }) {
    const { seedSchema } = await import("../../../../emulator/index.ts");
    await output.document(seedSchema(), 2);
    return undefined;
  },
});

/** A table is looked at over shoulders and in recordings: it says where the secrets are, and holds none. */
const emulatorWorkspaces = defineCommand({
  words: ["emulator", "workspaces"],
  summary: "List workspaces with their keys",
  extendsDerived: true,
  positionals: [],
  flags: [],
  examples: [],
  async run(input, context, spec) {
    await runDerivedCommand(spec!, input, context);
    const hides = context.output.format === "table" && context.globals.fields === undefined;
    if (hides)
      await context.output.note(
        "Secrets are hidden. To print them, use --json. For the variables of the first workspace: svc emulator env",
      );
    return undefined;
  },
});

/** A derived command that shows new secrets: a runner masks them, as it does those of `env`. */
const masked = (words: readonly string[], summary: string, secrets: readonly string[]) =>
  defineCommand({
    words,
    summary,
    extendsDerived: true,
    positionals: [],
    flags: [],
    examples: [],
    run: (input, context, spec) => runDerivedCommand(spec!, input, context, { secrets }),
  });

const tokensCreate = masked(["emulator", "tokens", "create"], "Create a token for the control plane", ["token"]);

const workspacesCreate = masked(
  ["emulator", "workspaces", "create"],
  "Create a workspace with its own keys and templates",
  ["client_secret", "hmac_key"],
);

const flags = [
  {
    flag: "cluster",
    type: "text",
    placeholder: "ID",
    description: "Cluster of the device (default: that of the address, or the first)",
  },
  { flag: "email", type: "text", placeholder: "ADDRESS", description: "E-mail address of the user who decides" },
  { flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" },
] as const satisfies readonly FlagSpec[];

const decides = (verb: "approve" | "deny", status: "AUTHORIZED" | "DENIED") =>
  defineCommand({
    words: ["emulator", "device", verb],
    summary: `${verb === "approve" ? "Approve" : "Deny"} a device by its user code, as a user`,
    positionals: [{ name: "user_code", description: "User code that the device shows; case and hyphen are ignored" }],
    flags,
    examples: [{ title: "Use the code that a device shows", argv: ["emulator", "device", verb, "WDJB-MJHT"] }],
    async run(input, context) {
      const { approveDevice } = await import("../../../api/emulator/device-grants.ts");
      const client = await context.client("emulator", { file: input.flags.file });
      const { cluster: clusterId, email } = input.flags;
      const answer = await client.call(
        approveDevice,
        {
          params: { user_code: input.positionals.user_code },
          body: { status, ...(clusterId && { cluster_id: clusterId }), ...(email && { email }) },
        },
        { signal: context.signal },
      );
      await context.output.show(answer);
      return undefined;
    },
  });

const deviceApprove = decides("approve", "AUTHORIZED");
const deviceDeny = decides("deny", "DENIED");

export const commands: readonly Command[] = [
  emulatorStart,
  emulatorExec,
  emulatorEnv,
  emulatorOpen,
  emulatorStop,
  emulatorStatus,
  emulatorClockShow,
  emulatorWaitFor,
  emulatorTrace,
  emulatorWorkspaces,
  workspacesCreate,
  tokensCreate,
  emulatorRequests,
  emulatorDeliveries,
  deliveriesResend,
  webhooksResend,
  deviceApprove,
  deviceDeny,
  emulatorRepair,
  emulatorSeedSchema,
  snapshotDiff,
  emulatorStateExport,
  emulatorStateImport,
];
