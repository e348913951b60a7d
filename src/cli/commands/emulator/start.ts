import type { Emulator } from "../../../../emulator/index.ts";
import { type Context, command } from "../../command.ts";
import { secretsOf } from "../../connection/emulator-variables.ts";
import { stateFile } from "../../connection/run-file.ts";
import { noteStateAbove } from "../../connection/state-folder.ts";
import { usualColumns } from "../../terminal/wide.ts";
import { bannerOf, readyEvent } from "./banner.ts";
import { type Started, showStarted, startDetached } from "./detach.ts";
import { openEmulator } from "./open.ts";
import { emulatorFlags, emulatorOptions } from "./options.ts";
import { readyFileAt } from "./ready-file.ts";

const defaultPort = 4010;

export const emulatorStart = command({
  words: ["emulator", "start"],
  summary: "Start the emulator and keep it running until Ctrl-C or svc emulator stop",
  description:
    "Prints a line for each request, each attempt to deliver a webhook and each move of time; not with --quiet. With --json one line is printed when everything is up, and then one for each of these. With --detach they go to a log: beside the state, with .log behind its name; or .svc/ephemeral.log. It is begun anew with each start.",
  positionals: [],
  flags: [
    ...emulatorFlags(defaultPort),
    {
      flag: "detach",
      type: "switch",
      description: "Return when everything is up, and leave the emulator in the background; svc emulator stop ends it",
    },
    {
      flag: "ready-file",
      type: "text",
      placeholder: "FILE",
      description: "Write the line of --json to this file when everything is up; it goes when the emulator does",
    },
  ],
  examples: [
    { title: "On the usual ports, with the state in .svc/emulator.json", argv: ["emulator", "start"] },
    {
      title: "A minute in each second, nothing kept",
      argv: ["emulator", "start", "--ephemeral", "--clock-speed", "60"],
    },
    { title: "In the background, until svc emulator stop", argv: ["emulator", "start", "--detach"] },
  ],
  async run(input, context) {
    const { host, output, signal, cut } = context;
    if (input.flags.detach && host.starter === undefined) return startDetached(input.flags, context);
    const options = await emulatorOptions(input, host);
    const { "ready-file": readyPath } = input.flags;
    const file = options.ephemeral ? undefined : stateFile(host, options.file ?? undefined);
    const readyFile = readyPath === undefined ? undefined : await readyFileAt(readyPath, context);
    if (file !== undefined) await noteStateAbove(host, output, file, options.file);
    const emulator = await openEmulator({ port: defaultPort, ...options, file }, context, readyFile?.path);
    const ready = readyEvent(emulator, host);
    if (readyFile) {
      context.atEnd(() => readyFile.remove());
      await readyFile.tell(ready);
    }
    const started: Started = { ready, banner: bannerOf(emulator, host), secrets: secretsOf(emulator) };
    await (host.starter?.tell(started) ?? showStarted(started, context));
    const unwatch = await showActivity(emulator, context);

    await Promise.race([emulator.closed, aborted(signal)]);
    if (signal.aborted) await output.note("Stopping; press Ctrl-C again to stop at once");
    await emulator.close({ hurry: cut });
    await unwatch();
    signal.throwIfAborted();
    return undefined;
  },
});

/** A line for each request, attempt and move of time; under --json and ndjson a document each. Nothing under --quiet. */
async function showActivity(emulator: Emulator, { globals, host, output }: Context): Promise<() => Promise<void>> {
  if (globals.quiet) return async () => {};
  const { activityLine } = await import("./activity-lines.ts");
  return emulator.watch(async (events) => {
    if (output.format === "table") {
      const columns = host.stdout.isTTY ? host.stdout.columns || usualColumns : undefined;
      return output.print(...events.map((event) => activityLine(event, columns)));
    }
    for (const event of events) await output.document(event);
  });
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) done();
    signal.addEventListener("abort", () => done(), { once: true });
  });
