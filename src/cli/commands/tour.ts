import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pluralize } from "../../base/pluralize.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { bold, cyan, dim, green, red, type StyledLine } from "../output/styled.ts";
import { formatTable } from "../output/text.ts";
import type { TimelineRow, TourResult, TourStep } from "../tour/tour.ts";

const tour = defineCommand({
  words: ["tour"],
  summary: "Run a 15-step tour on an in-process emulator",
  description:
    "Uploads a file, creates an intake and a contract, has it signed, receives signed webhooks, and shows the retries of a dead receiver on the virtual clock. Each step runs a command and checks its result. Nothing is left behind.",
  positionals: [],
  flags: [],
  examples: [{ title: "See it", argv: ["tour"] }],
  async run(_input, context) {
    const { output, host } = context;
    const startedAt = host.wall.monotonicNow();
    const isText = output.format === "table";
    let number = 0;
    const walked = await onFreshGround(context, async (step) => {
      number += 1;
      if (isText) await output.print(...stepLines(number, step));
    });
    const seconds = ((host.wall.monotonicNow() - startedAt) / 1_000).toFixed(1);
    if (isText) await output.print(...endLines(walked, seconds));
    else await output.show(documentOf(walked, Number(seconds)));
    return walked.problem === undefined ? undefined : "failed";
  },
});

const documentOf = ({ steps, timeline, problem }: TourResult, seconds: number) => ({
  ok: problem === undefined,
  problem: problem ?? null,
  seconds,
  steps: steps.map(({ problem: wrong, ...step }) => ({ ...step, problem: wrong ?? null })),
  timeline,
});

/** An emulator in memory with standing virtual time, two receivers and a folder with the documents; all gone at the end. */
async function onFreshGround(context: Context, onStep: (step: TourStep) => Promise<void>): Promise<TourResult> {
  const [{ startEmulator }, { openReceiver }, { buildChildEnvironment }, { runTour }, documents] = await Promise.all([
    import("../../../emulator/index.ts"),
    import("../connection/receiver.ts"),
    import("./emulator/exec.ts"),
    import("../tour/tour.ts"),
    import("../tour/documents.ts"),
  ]);
  const { host, atEnd } = context;
  const folder = await mkdtemp(join(tmpdir(), "svc-tour-"));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "msa.pdf"), documents.createEmptyPdf());
  await writeFile(join(folder, "contract.json"), JSON.stringify(documents.contractDocument, null, 2));
  const emulator = await startEmulator({ clock: { mode: "manual" } });
  atEnd(() => emulator.close());
  const healthy = await openReceiver();
  atEnd(() => healthy.close());
  const dead = await openReceiver({ status: 500 });
  atEnd(() => dead.close());
  const env = buildChildEnvironment(emulator, host);
  return runTour({
    svc: (argv, stdin) => context.svc(argv, { env, cwd: folder, ...(stdin === undefined ? {} : { stdin }) }),
    healthy,
    dead,
    onStep,
  });
}

/** As much of one answer as tells what it is like. */
const shownLines = 12;

function stepLines(number: number, { title, command, output, notes, problem }: TourStep): StyledLine[] {
  const lines = (output.trim() === "" ? notes : output).trimEnd().split("\n");
  const more = lines.length - shownLines;
  const shown = more > 0 ? [...lines.slice(0, shownLines), `… and ${pluralize(more, "line")} more`] : lines;
  return [
    [bold(`${number}. ${title}`)],
    ["   ", cyan(`$ ${command}`)],
    ...shown.map((line) => `   ${line}`),
    ...(problem === undefined ? [] : [["   ", red(`failed: ${problem}`)]]),
    "",
  ];
}

function endLines({ steps, timeline, problem }: TourResult, seconds: string): StyledLine[] {
  const retries =
    timeline.length > 0 ? [[bold("Attempts to reach the dead receiver")], ...timelineLines(timeline), ""] : [];
  const summary =
    problem === undefined
      ? green(`Tour complete: ${steps.length} commands, 155 minutes of virtual time, ${seconds} s.`)
      : red(`The tour failed at step ${steps.length}. ${problem}`);
  return [...retries, [summary]];
}

function timelineLines(timeline: readonly TimelineRow[]): StyledLine[] {
  const rows = timeline.map(({ attempt, at, minutes, outcome }) => [String(attempt), at, `+${minutes} min`, outcome]);
  const [heading, ...lines] = formatTable(rows, ["ATTEMPT", "VIRTUAL TIME", "AFTER", "OUTCOME"]);
  return [["   ", dim(heading!)], ...lines.map((line) => `   ${line}`)];
}

export const commands: readonly Command[] = [tour];
