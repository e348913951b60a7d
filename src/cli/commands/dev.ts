import { createIntegerFlag, type FlagSpec } from "../../derive/command-spec.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { formatTargetFlags } from "../parse/argv.ts";
import type { CommandInputOf } from "../parse/declaration.ts";
import { UsageError } from "../process/failure.ts";
import { canPrompt } from "../prompt/confirm.ts";
import { openSessionReceiver } from "./dev/receive.ts";
import { SessionScreen } from "./dev/screen.ts";
import { DevSession } from "./dev/session.ts";
import { createFolderContext, formatReadyLines, startOrJoinEmulator, toReadyDocument } from "./dev/start.ts";
import { forwardingFlags, readForwardingFlags } from "./webhooks/forwarding.ts";

const flags = [
  ...forwardingFlags,
  createIntegerFlag("port", "Port of an emulator that is started (default: 4010, or a free one)", {
    min: 0,
    max: 65_535,
  }),
] as const satisfies readonly FlagSpec[];

const dev = defineCommand({
  words: ["dev"],
  summary: "Run an emulator and forward its webhooks to your app",
  description:
    "Starts the emulator of this folder or joins a running one, creates a webhook, verifies each delivery and forwards it to your app. Shows each request and each delivery with the response of your app, and below them the virtual time, what is due next, and failing webhooks. Press a key to create, send or sign a contract, resend a delivery, add a fault or advance the clock. Press ? to list the keys. Each key prints its equivalent command. Reports when your app is down, a webhook is disabled or the emulator has ended, and continues afterwards. In a pipe and with --json, no keys are read. With --json, each event is a line of JSON, the first of which is ready.",
  flags,
  examples: [
    ["Forward webhooks to an app on port 3000", "dev --forward-to 3000"],
    ["Show webhooks without an app", "dev"],
    ["Print JSON for a script", "dev --forward-to localhost:3000/hooks --json"],
  ],
  async run(input, context) {
    const plan = createPlan(input, context);
    const { host, globals, output } = context;
    const isTable = output.format === "table";
    const isInteractive = isTable && host.stdout.isTTY === true && canPrompt(host, globals);
    const screen = new SessionScreen(context, isInteractive);
    const screenContext = createFolderContext(context, { ...output, warn: (line) => screen.showNotice(line) });
    const emulator = await startOrJoinEmulator(plan.port, screenContext);
    const session = new DevSession({ ...plan, isInteractive }, screenContext, screen);
    const receiver = await openSessionReceiver(plan, (delivery) => session.onDelivery(delivery), screenContext);
    await session.subscribe(receiver);
    const ready = { emulator, receiverUrl: receiver.url, webhookId: session.webhookId, forwardTo: plan.forwardTo };
    if (isTable) await screen.print(...formatReadyLines(ready, isInteractive, host));
    else await output.printDocument(toReadyDocument(ready));
    if (!isInteractive) await output.note("Press Ctrl-C to stop");
    await session.run();
    context.signal.throwIfAborted();
  },
});

function createPlan({ flags: flagValues }: CommandInputOf<typeof flags>, { globals }: Context) {
  const [flag] = formatTargetFlags(globals);
  if (flag !== undefined) {
    throw new UsageError(`${flag} cannot be used with svc dev, which uses the emulator of this folder`);
  }
  return { ...readForwardingFlags(flagValues), port: flagValues.port };
}

export const commands: readonly Command[] = [dev];
