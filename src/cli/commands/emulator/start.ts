import { relative } from "node:path";
import type { Emulator } from "../../../../emulator/index.ts";
import { type Context, command } from "../../command.ts";
import { secretsOf } from "../../connection/emulator-variables.ts";
import { stateFile } from "../../connection/run-file.ts";
import { noteStateAbove } from "../../connection/state-folder.ts";
import { quoted } from "../../help/examples.ts";
import { maskSecrets } from "../../output/github-actions.ts";
import { usualColumns } from "../../terminal/wide.ts";
import { openEmulator } from "./open.ts";
import { emulatorFlags, emulatorOptions } from "./options.ts";
import { readyFileAt } from "./ready-file.ts";

const defaultPort = 4010;

export const emulatorStart = command({
  words: ["emulator", "start"],
  summary: "Start the emulator and keep it running until Ctrl-C or svc emulator stop",
  description:
    "Prints a line for each request, each attempt to deliver a webhook and each move of time; not with --quiet. With --json one line is printed when everything is up, and then one for each of these.",
  positionals: [],
  flags: [
    ...emulatorFlags(defaultPort),
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
  ],
  async run(input, context) {
    const { host, output, signal, cut } = context;
    const options = await emulatorOptions(input, host);
    const { "ready-file": readyPath } = input.flags;
    const readyFile = readyPath === undefined ? undefined : await readyFileAt(readyPath, context);
    const file = options.ephemeral ? undefined : stateFile(host, options.file ?? undefined);
    if (file !== undefined) await noteStateAbove(host, output, file, options.file);
    const emulator = await openEmulator({ port: defaultPort, ...options, file }, context);
    await maskSecrets(host, secretsOf(emulator));
    const ready = readyEvent(emulator, context);
    if (readyFile) {
      context.atEnd(() => readyFile.remove());
      await readyFile.tell(ready);
    }
    await output.event(ready, ...banner(emulator, context));
    const unwatch = await showActivity(emulator, context);

    await Promise.race([emulator.closed, aborted(signal)]);
    if (signal.aborted) await output.note("Stopping; press Ctrl-C again to stop at once");
    await emulator.close({ hurry: cut });
    await unwatch();
    signal.throwIfAborted();
    return undefined;
  },
});

/** What scripts wait for (DECISIONS.md, L21). */
const readyEvent = ({ routerUrl, controlUrl, clusters, file }: Emulator, { host }: Context) => ({
  event: "ready",
  router_url: routerUrl,
  control_url: controlUrl,
  clusters: clusters.map(({ id, url }) => ({ id, url })),
  file: file ?? null,
  pid: host.pid,
});

function banner(emulator: Emulator, { host }: Context): string[] {
  const { routerUrl, controlUrl, clusters, token, file } = emulator;
  const first = clusters.find(({ clientId }) => clientId !== undefined);
  const kept = file === undefined ? "in memory" : relative(host.cwd, file) || file;
  return [
    "The emulator is up.",
    "",
    `  router    ${routerUrl}`,
    ...clusters.map(({ id, url, external }) => `  ${id.padEnd(8)}  ${url}${external ? " (external)" : ""}`),
    `  control   ${controlUrl}`,
    `  state     ${kept}`,
    "",
    "In another terminal:",
    "",
    exported("SVC_BASE_URL", routerUrl),
    ...(first ? [exported("SVC_CLIENT_ID", first.clientId), exported("SVC_CLIENT_SECRET", first.clientSecret)] : []),
    ...(file === undefined ? [exported("SVC_EMULATOR_URL", controlUrl), exported("SVC_EMULATOR_TOKEN", token)] : []),
    "  svc contracts templates list",
    "",
    "Ctrl-C stops it.",
  ];
}

/** To be copied into a shell: seeds of others choose the values. */
const exported = (name: string, value = ""): string => `  export ${name}=${quoted(value)}`;

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
