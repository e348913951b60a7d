import type { CapturedRun } from "../command.ts";
import type { Receiver } from "../connection/receiver.ts";
import { formatCommandLine } from "../help/examples.ts";

/** One command that was run, and whether it did what it should. */
export interface TourStep {
  readonly title: string;
  readonly command: string;
  readonly exit: number;
  readonly output: string;
  /** What it said to people beside it. */
  readonly notes: string;
  readonly problem: string | undefined;
}

/** One attempt to reach the dead receiver. */
export interface TimelineRow {
  readonly attempt: number;
  /** Virtual time. */
  readonly at: string;
  readonly minutes: number;
  readonly outcome: string;
}

/** What the walk needs: a way to run commands in a folder that holds the documents, and two receivers. */
export interface TourContext {
  svc(argv: readonly string[], stdin?: string): Promise<CapturedRun>;
  readonly healthy: Receiver;
  /** Answers 500 to everything. */
  readonly dead: Receiver;
  onStep(step: TourStep): Promise<void>;
}

export interface TourResult {
  readonly steps: readonly TourStep[];
  readonly timeline: readonly TimelineRow[];
  /** Undefined when everything did what it should. */
  readonly problem: string | undefined;
}

class Stumbled extends Error {}

/** The whole journey by the CLI's own commands. Stops at the first step that does not do what it should. */
export async function runTour(ground: TourContext): Promise<TourResult> {
  const steps: TourStep[] = [];
  const timeline: TimelineRow[] = [];

  /** `read` returns what the next steps need, or throws Stumbled with what is wrong. */
  async function step<T>(
    title: string,
    argv: readonly string[],
    read: (answer: CapturedRun) => T,
    stdin?: string,
  ): Promise<T> {
    const answer = await ground.svc(argv, stdin);
    let value: T | undefined;
    let problem = answer.exit === 0 ? undefined : `exit ${answer.exit}: ${answer.err.trim()}`;
    try {
      if (problem === undefined) value = read(answer);
    } catch (error) {
      problem = error instanceof Stumbled ? error.message : `unreadable answer: ${(error as Error).message}`;
    }
    const done = {
      title,
      command: formatCommandLine(argv),
      exit: answer.exit,
      output: answer.out,
      notes: answer.err,
      problem,
    };
    steps.push(done);
    await ground.onStep(done);
    if (problem !== undefined) throw new Stumbled(`${title}: ${problem}`);
    return value as T;
  }

  try {
    await journey(step, ground);
    timeline.push(...(await deadReceiver(step, ground)));
    return { steps, timeline, problem: undefined };
  } catch (error) {
    if (!(error instanceof Stumbled)) throw error;
    return { steps, timeline, problem: error.message };
  }
}

type Take = <T>(title: string, argv: readonly string[], read: (answer: CapturedRun) => T, stdin?: string) => Promise<T>;

const json = ({ out }: CapturedRun): Record<string, unknown> => JSON.parse(out);
const hold = (condition: boolean, otherwise: string): void => {
  if (!condition) throw new Stumbled(otherwise);
};

async function journey(step: Take, { healthy }: TourContext): Promise<void> {
  const fileId = await step(
    "Upload a file",
    ["files", "upload", "msa.pdf", "--json=file_id,filename,bytes"],
    ({ out }) => {
      const [file] = JSON.parse(out) as { file_id: string }[];
      return file!.file_id;
    },
  );
  await step(
    "Request a legal review",
    [
      "intake",
      "create",
      "--title",
      "Review the MSA",
      "--workflow-id",
      "201",
      "--file-ids",
      fileId,
      "--json=id,reference_id,attachments",
    ],
    (answer) => hold(JSON.stringify(json(answer).attachments).includes(fileId), "the file is not attached"),
  );
  const activities = ["CONTRACT_CREATED", "CONTRACT_SIGNATURE_REQUESTED", "CONTRACT_SIGNED", "CONTRACT_EXECUTED"];
  await step(
    "Subscribe a receiver on this machine",
    [
      "webhooks",
      "create",
      "--title",
      "tour",
      "--url",
      `${healthy.url}/hooks`,
      ...activities.flatMap((name) => ["--only-for-activities", name]),
      "--json=id,status",
    ],
    (answer) => hold(json(answer).status === "ACTIVE", "the webhook is not active"),
  );
  const contract = await step(
    "Create a contract from a template",
    ["contracts", "create", "--data", "contract.json", "--json=id,contract_status"],
    (answer) => String(json(answer).id),
  );
  await step("Send it for signature", ["contracts", "send", contract], () => undefined);
  await step("Poll its status", ["contracts", "status", contract, "--json"], (answer) =>
    hold(json(answer).contract_status === "SIGN", "the contract is not out for signature"),
  );
  await step("List the signatories", ["contracts", "recipients", contract, "--format", "table"], ({ out }) =>
    hold(out.includes("jo@acme.example"), "the signatory is missing"),
  );
  await step(
    "Sign as the counterparty",
    ["emulator", "sign", contract, "--email", "jo@acme.example", "--json=contract_status"],
    (answer) => hold(json(answer).contract_status === "EXECUTED", "the contract is not executed"),
  );
  await step("Run the due entries", ["emulator", "clock", "advance", "--by", "PT1M", "--json"], () => {
    const got = healthy.received.map(({ body }) => (JSON.parse(body.toString()) as { activity?: string }).activity);
    const missing = activities.filter(
      (name) => !JSON.stringify(healthy.received.map(({ body }) => body.toString())).includes(name),
    );
    hold(missing.length === 0, `the receiver did not get ${missing.join(", ")}; it got ${got.join(", ")}`);
  });
  const last = healthy.received.at(-1)!;
  const signature = String(last.headers["x-svc-webhook-content-hash"]);
  await step(
    "Verify the signature of the last delivery",
    ["webhooks", "verify", "-", "--signature", signature],
    ({ out }) => hold(out.trim() === "valid", "the signature is not valid"),
    last.body.toString("utf8"),
  );
}

/** Six attempts, and the subscription is disabled (the specification, Limits). */
const expectedMinutes = [0, 5, 15, 35, 75, 155];

async function deadReceiver(step: Take, { dead }: TourContext): Promise<TimelineRow[]> {
  const webhook = await step(
    "Subscribe a receiver that always responds 500",
    [
      "webhooks",
      "create",
      "--title",
      "dead",
      "--url",
      `${dead.url}/hooks`,
      "--only-for-activities",
      "CONTRACT_CREATED",
      "--json=id",
    ],
    (answer) => String(json(answer).id),
  );
  await step(
    "Create a second contract",
    ["contracts", "create", "--data", "contract.json", "--json=id"],
    () => undefined,
  );
  await step(
    "Advance the clock by 155 minutes",
    ["emulator", "clock", "advance", "--by", "PT2H35M", "--format", "ndjson", "--fields", "at,outcome"],
    () =>
      hold(
        dead.received.length === expectedMinutes.length,
        `the receiver got ${dead.received.length} requests instead of ${expectedMinutes.length}`,
      ),
  );
  const timeline = await step(
    "Show the attempts of that delivery",
    ["emulator", "deliveries", "--webhook", webhook, "--json=outcome,attempts"],
    ({ out }) => rowsOf(JSON.parse(out) as DeliveryRow[]),
  );
  await step(
    "Check that the webhook is disabled",
    ["emulator", "webhooks", "--json=id,status,failure_count"],
    ({ out }) => {
      const row = (JSON.parse(out) as { id: number; status: string }[]).find(({ id }) => String(id) === webhook);
      hold(row?.status === "DISABLED_BY_ERROR", `the webhook is ${row?.status}`);
    },
  );
  return timeline;
}

interface DeliveryRow {
  readonly attempts: readonly { number: number; at: string; status: number | null; error: { code: string } | null }[];
}

function rowsOf([delivery]: DeliveryRow[]): TimelineRow[] {
  const attempts = delivery?.attempts ?? [];
  const start = Date.parse(attempts[0]?.at ?? "");
  const rows = attempts.map(({ number, at, status, error }) => ({
    attempt: number,
    at,
    minutes: Math.round((Date.parse(at) - start) / 60_000),
    outcome: status === null ? (error?.code ?? "no answer") : `status ${status}`,
  }));
  const minutes = rows.map((row) => row.minutes);
  hold(minutes.join() === expectedMinutes.join(), `the attempts were at minutes ${minutes.join(", ")}`);
  return rows;
}
