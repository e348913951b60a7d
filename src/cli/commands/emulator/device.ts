import { approveDevice } from "../../../api/emulator/device-grants.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import { type Command, defineCommand } from "../../command.ts";

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

const createDecisionCommand = (verb: "approve" | "deny", status: "AUTHORIZED" | "DENIED") =>
  defineCommand({
    words: ["emulator", "device", verb],
    summary: `${verb === "approve" ? "Approve" : "Deny"} a device by its user code, as a user`,
    positionals: [{ name: "user_code", description: "User code that the device shows; case and hyphen are ignored" }],
    flags,
    examples: [{ title: "Use the code that a device shows", argv: ["emulator", "device", verb, "WDJB-MJHT"] }],
    async run(input, context) {
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

const deviceApprove = createDecisionCommand("approve", "AUTHORIZED");
const deviceDeny = createDecisionCommand("deny", "DENIED");

export const commands: readonly Command[] = [deviceApprove, deviceDeny];
