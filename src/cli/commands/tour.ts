import { readFile } from "node:fs/promises";
import type { Delivery } from "../../api/webhook-health/attempts.ts";
import { specifiedOutageMs } from "../../api/webhook-retries.ts";
import { tryParseJson } from "../../base/object.ts";
import { pluralize } from "../../base/text.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { bold, cyan, green, red, type StyledLine } from "../output/styled.ts";
import { fitTable } from "../output/table.ts";
import { withScenarioEnvironment } from "./run/environment.ts";
import { runScenario, type StepResult } from "./run/run-scenario.ts";
import { parseScenario } from "./run/scenario-file.ts";

const tour = defineCommand({
  words: ["tour"],
  summary: "Run a 15-step tour on an in-process emulator",
  description:
    "Uploads a file, creates an intake and a contract, has it signed, receives signed webhooks, and shows the retries of a dead receiver on the virtual clock. Each step runs a command and checks its result. Nothing is left behind.",
  examples: [["Run the tour", "tour"]],
  async run(_input, context) {
    const { output, host } = context;
    const startedAt = host.wall.monotonicNow();
    const isText = output.format === "table";
    let number = 0;
    const result = await runTour(context, async (step) => {
      number += 1;
      if (isText) await output.print(...formatStepLines(number, step));
    });
    const seconds = ((host.wall.monotonicNow() - startedAt) / 1_000).toFixed(1);
    if (isText) await output.print(...endLines(result, seconds));
    else {
      const { steps, timeline, problem } = result;
      const ok = problem === undefined;
      await output.show({ ok, problem: problem ?? null, seconds: Number(seconds), steps, timeline });
    }
    return result.problem === undefined ? undefined : "failed";
  },
});

type Step = ReturnType<typeof toStep>;

async function runTour(context: Context, onStep: (step: Step) => Promise<void>) {
  const parsed = parseScenario("tour.yaml", await readTour());
  const steps: Step[] = [];
  const { steps: all } = await withScenarioEnvironment(parsed, context, (environment) =>
    runScenario(parsed, environment, {
      async onStep(result) {
        if (result.command === undefined) return;
        const step = toStep(result);
        steps.push(step);
        await onStep(step);
      },
    }),
  );
  const failed = all.find(({ ok }) => !ok);
  const log = steps.find(({ command }) => command.startsWith("svc emulator deliveries"));
  return {
    steps,
    timeline: log === undefined ? [] : parseTimeline(log.output),
    problem: failed && `${failed.title}: ${formatProblems(failed)}`,
  };
}

const toStep = (result: StepResult) => ({
  title: result.title,
  command: result.command ?? "",
  exit: result.exit ?? 0,
  output: result.output,
  notes: result.notes,
  problem: result.ok ? null : formatProblems(result),
});

const formatProblems = ({ problems }: StepResult): string => problems.map(({ message }) => message).join("; ");

const readTour = (): Promise<string> =>
  readFile(new URL("./scenarios/tour.yaml", import.meta.url), "utf8").catch(() =>
    readFile(new URL("../../../fixtures/scenarios/tour.yaml", import.meta.url), "utf8"),
  );

const shownLines = 12;

function formatStepLines(number: number, { title, command, output, notes, problem }: Step): StyledLine[] {
  const lines = (output.trim() === "" ? notes : output).trimEnd().split("\n");
  const hiddenCount = lines.length - shownLines;
  const shownText =
    hiddenCount > 0 ? [...lines.slice(0, shownLines), `… and ${pluralize(hiddenCount, "line")} more`] : lines;
  return [
    [bold(`${number}. ${title}`)],
    ["   ", cyan(`$ ${command}`)],
    ...shownText.map((line) => `   ${line}`),
    ...(problem === null ? [] : [["   ", red(`failed: ${problem}`)]]),
    "",
  ];
}

function endLines({ steps, timeline, problem }: Awaited<ReturnType<typeof runTour>>, seconds: string): StyledLine[] {
  const retries =
    timeline.length > 0 ? [[bold("Attempts to reach the dead receiver")], ...formatTimeline(timeline), ""] : [];
  const summary =
    problem === undefined
      ? green(
          `Tour complete: ${steps.length} commands, ${specifiedOutageMs / 60_000} minutes of retries, ${seconds} s.`,
        )
      : red(`The tour failed at step ${steps.length}. ${problem}`);
  return [...retries, [summary]];
}

function formatTimeline(timeline: ReturnType<typeof parseTimeline>): StyledLine[] {
  const rows = timeline.map(({ attempt, at, minutes, outcome }) => [String(attempt), at, `+${minutes} min`, outcome]);
  const columns = ["attempt", "virtual_time", "after", "outcome"];
  const { lines } = fitTable(rows, { columns, window: Number.POSITIVE_INFINITY, isComplete: true });
  return lines.map((line) => ["   ", ...[line].flat()]);
}

export const commands: readonly Command[] = [tour];

function parseTimeline(output: string) {
  const [delivery] = (tryParseJson(output) ?? []) as readonly Delivery[];
  const attempts = delivery?.attempts ?? [];
  const start = Date.parse(attempts[0]?.at ?? "");
  return attempts.map(({ number, at, status, error }) => ({
    attempt: number,
    at,
    minutes: Math.round((Date.parse(at) - start) / 60_000),
    outcome: status === null ? (error?.code ?? "no response") : `status ${status}`,
  }));
}
