import { approveDevice } from "../../../api/emulator/device-grants.ts";
import { createTextFlag } from "../../../derive/command-spec.ts";
import { type Command, defineCommand } from "../../command.ts";
import { runDerivedCommand } from "../../runtime/derived-command.ts";

/** Tables can appear on shared screens. This table therefore shows only the location of the secrets. */
const emulatorWorkspaces = defineCommand({
  words: ["emulator", "workspaces"],
  extendsDerived: true,
  async run(input, context, spec) {
    await runDerivedCommand(spec!, input, context);
    if (context.output.isText)
      await context.output.note(
        "Secrets are hidden. With the role operate or admin, --json prints them, and svc emulator env prints the variables of the first workspace.",
      );
  },
});

const createDecisionCommand = (verb: "approve" | "deny", status: "AUTHORIZED" | "DENIED") =>
  defineCommand({
    words: ["emulator", "device", verb],
    summary: `${verb === "approve" ? "Approve" : "Deny"} a device by its user code, as a user`,
    positionals: [{ name: "user_code", description: "User code that the device shows; case and hyphen are ignored" }],
    flags: [
      createTextFlag("cluster", "ID", "Cluster of the device (default: the cluster of the address, or the first)"),
      createTextFlag("email", "ADDRESS", "E-mail address of the user who decides"),
      createTextFlag("file", "FILE", "State file of the running emulator"),
    ],
    examples: [["Use the code that a device shows", `emulator device ${verb} WDJB-MJHT`]],
    async run(input, context) {
      const client = await context.client("emulator", { file: input.flags.file });
      const { cluster: clusterId, email } = input.flags;
      const response = await client.call(approveDevice, {
        params: { user_code: input.positionals.user_code },
        body: { status, ...(clusterId && { cluster_id: clusterId }), ...(email && { email }) },
      });
      await context.output.show(response);
    },
  });

export const commands: readonly Command[] = [
  emulatorWorkspaces,
  createDecisionCommand("approve", "AUTHORIZED"),
  createDecisionCommand("deny", "DENIED"),
];
