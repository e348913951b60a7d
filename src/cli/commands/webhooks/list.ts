import { type Context, defineCommand } from "../../command.ts";
import { CommandFailedError } from "../../failure.ts";
import { requireEmulator } from "./why.ts";

const columns = [
  "id",
  { name: "workspace", cut: 1 },
  { name: "title", cut: 3 },
  { name: "status", purpose: true },
  "failure_count",
  { name: "url", cut: 2, least: 24, omits: "start" },
  { name: "only_for_activities", cut: 1 },
] as const;

/** The public API has no such list: an emulator knows, and the real service shows it in its application. */
export const webhooksList = defineCommand({
  words: ["webhooks", "list"],
  summary: "List webhooks with their status and failures",
  description:
    "Lists the webhooks of all workspaces of the running emulator. The real service shows them in its application only.",
  positionals: [],
  flags: [{ flag: "file", type: "text", placeholder: "FILE", description: "State file of the running emulator" }],
  examples: [{ title: "List the webhooks and their activities", argv: ["webhooks", "list"] }],
  async run({ flags }, context) {
    await requireEmulator(flags.file, context);
    const { listControlWebhooks } = await import("../../../api/emulator/webhooks.ts");
    const client = await emulatorClient(context, flags.file);
    const found = await client.call(listControlWebhooks, {}, { signal: context.signal });
    await context.output.show(found, {
      columns,
      none: "No webhooks. To create one: svc webhooks listen or svc webhooks create",
    });
    return undefined;
  },
});

async function emulatorClient(context: Context, file: string | undefined) {
  return context.client("emulator", { file }).catch((error: unknown) => {
    if (!(error instanceof CommandFailedError) || error.code !== "no_emulator") throw error;
    throw new CommandFailedError("not-found", "no_emulator", error.message, {
      hint: "The real service shows its webhooks in its application only.",
      next: error.next,
      cause: error,
    });
  });
}
