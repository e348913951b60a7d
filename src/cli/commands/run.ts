import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { groupBy } from "../../base/object.ts";
import { createIntegerFlag, createSwitch, createTextFlag } from "../../derive/command-spec.ts";
import { type Command, defineCommand } from "../command.ts";
import { checkOutputFile, removeEarlierReport } from "../output/file.ts";
import { isSeedFile, readSeedDocument } from "../parse/body.ts";
import { isSwitchedOn } from "../process/environment.ts";
import { UsageError } from "../process/failure.ts";
import { inputVariable, waitForInputEnd } from "../process/host.ts";
import { confirmYes } from "../prompt/terminal.ts";
import { recordStory } from "./run/record.ts";
import { runFiles, watchFiles } from "./run/runner.ts";
import { createScenarioSchema } from "./run/schema.ts";

const run = defineCommand({
  words: ["run"],
  summary: "Run each scenario file on its own emulator",
  description:
    "A scenario is a YAML file of steps: calls of operations, command lines, clock advances, people who sign, scripted faults and receivers of webhooks, each with its expected result. Every file runs on its own emulator, in memory. No environment variables are set for a program at the URL of a receiver. Start it with the signing key of svc emulator exec --deterministic -- printenv SVC_WEBHOOK_HMAC_KEY. The exit code is 1 if a scenario fails, and 2 if a file is invalid, which is checked before anything runs.",
  positionals: [{ name: "file", description: "Scenario file", variadic: true, optional: true }],
  flags: [
    createTextFlag("report", "FILE", "Write the results as JUnit XML"),
    createTextFlag("html", "FILE", "Write the results and traces as one HTML page"),
    createSwitch("update", "Write the observed values into the expectations"),
    createSwitch("watch", "Run again whenever a file changes, until Ctrl-C"),
    createIntegerFlag("jobs", "Number of processes (default: one for each core, if there are many files)", {
      min: 1,
      max: 256,
    }),
    createTextFlag(
      "record",
      "FILE",
      "Write a scenario of the requests that led to the last failure of the emulator here",
    ),
    createTextFlag("about", "REF", "With --record: subject of the scenario, request:12 or delivery:3"),
    createTextFlag("seed", "NAME|FILE", "With --record: seed of the emulator: demo, empty, or a file"),
    createSwitch("schema", "Print the JSON Schema of scenario files"),
  ],
  examples: [
    ["Run the scenarios of a project in CI", "run story.yaml --report junit.xml"],
    ["Update the expectations with the observed values", "run story.yaml --update"],
    ["Make a scenario of what just happened", "run --record story.yaml"],
    ["Print the JSON Schema for an editor", "run --schema"],
  ],
  async run({ positionals, flags }, context) {
    const { output, host } = context;
    if (flags.schema) {
      await output.printDocument(createScenarioSchema(), 2);
      return undefined;
    }
    // Two patterns of a shell can name the same file.
    const files = [...groupBy(positionals.file ?? [], (file) => resolve(host.cwd, file)).values()].map(
      ([file]) => file!,
    );
    if (flags.record !== undefined) {
      if (files.length > 0) throw new UsageError("--record cannot be used with <file>");
      const path = await checkOutputFile(host, flags.record, "--record");
      const { seed } = flags;
      if (isSeedFile(seed)) await readSeedDocument(host, seed);
      // A recorded story is edited by hand.
      const stats = await stat(path).catch(() => undefined);
      if (stats && stats.size > 0) await confirmYes(`Replace ${flags.record}`, context);
      await recordStory({ path: flags.record, eventId: flags.about, seed }, context);
      return undefined;
    }
    for (const name of ["about", "seed"] as const) {
      if (flags[name] !== undefined) throw new UsageError(`--${name} requires --record`);
    }
    if (files.length === 0) throw new UsageError("<file> is required: the path of a scenario");
    const reports: string[] = [];
    for (const name of ["report", "html"] as const) {
      const path = flags[name];
      if (path !== undefined)
        reports.push(await checkOutputFile(host, path, `--${name}`, { inputs: files, isOurs: reportBeginnings[name] }));
    }
    if (new Set(reports).size < reports.length) throw new UsageError("--html and --report must not be the same file");
    for (const path of reports) await removeEarlierReport(host, path);
    if (isSwitchedOn(host.env[inputVariable])) {
      void waitForInputEnd(host, context.onEnd).then(() => context.shutdown.interrupt("SIGTERM"));
    }
    const settings = { jobs: flags.jobs, report: flags.report, html: flags.html, update: flags.update === true };
    if (flags.watch) return watchFiles(files, settings, context);
    return (await runFiles(files, settings, context)) ? undefined : "failed";
  },
});

/** Beginning of report files. A file with another beginning is not replaced. */
const reportBeginnings = {
  report: (text: string) => text.startsWith("<?xml"),
  html: (text: string) => text.startsWith("<!doctype html>"),
};

export const commands: readonly Command[] = [run];
