import type { AdvanceTarget } from "../../../../emulator/index.ts";
import { activities } from "../../../api/activities.ts";
import { createWebhook } from "../../../api/contracts/webhooks.ts";
import { approveContract, declineContract, signContract } from "../../../api/emulator/contracts.ts";
import { addFault } from "../../../api/emulator/faults.ts";
import { listRequests } from "../../../api/emulator/requests.ts";
import type { CallableOperation, Operation } from "../../../api/operation.ts";
import { registry } from "../../../api/registry.ts";
import { restoreExactNumbers, stringifyExact, toPlainNumbers } from "../../../base/json.ts";
import { isAsyncIterable, omitUndefined, toFields, tryParseJson } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import { type CallArguments, CheckedCall } from "../../../client/checked-call.ts";
import { ServiceError } from "../../../client/errors.ts";
import { truncateText } from "../../output/table.ts";
import { UsageError } from "../../process/failure.ts";
import { formatCommandLine } from "../../process/shell-words.ts";
import { splitCommandLine } from "./check-scenario.ts";
import type { ScenarioEnvironment } from "./environment.ts";
import { formatInterpolatedValue, resolveReferences } from "./references.ts";
import { contractActions, type StepKind, type StepOf, stepSchemas } from "./schema.ts";

export interface StepObservation {
  readonly title: string;
  readonly outcome: string;
  /** Contract that the step is about, such as `T-1`. */
  readonly contract?: string | undefined;
  /** Source of saved values, with its numbers in their original spelling. */
  readonly value?: unknown;
  readonly status?: number;
  /** Failure codes: the declared code and the code of the response. */
  readonly failures?: readonly string[];
  /** Reason of the failure. Ignored if a failure is expected. */
  readonly error?: string | undefined;
  readonly command?: string;
  readonly exit?: number;
  readonly output?: string;
  readonly notes?: string;
}

type StepRunner<Kind extends StepKind> = (
  step: StepOf<Kind>,
  environment: ScenarioEnvironment,
) => Promise<StepObservation>;

const maxReasonLength = 500;

const stepRunners: { readonly [Kind in Exclude<StepKind, "for each">]: StepRunner<Kind> } = {
  async call({ call, params, query, headers, body }, environment) {
    const operation = registry.find(({ id }) => id === call)!;
    return { title: `call ${call}`, ...(await sendRequest(environment, operation, { params, query, headers, body })) };
  },

  async svc({ svc, stdin }, environment) {
    const argv = svc as readonly string[];
    const { exit, stdout, stderr } = await environment.svc(argv, stdin);
    const lines = stdout.trim().split("\n");
    const documents = lines.map(tryParseExactJson);
    const value = tryParseExactJson(stdout) ?? (documents.includes(undefined) ? undefined : documents);
    // A command that fails by its result, such as webhooks trigger, reports the failure only on standard output.
    const result = lines.map((line) => line.trim().replaceAll("\t", "  ")).join(value === undefined ? "; " : " ");
    const reason = findErrorNote(stderr) || truncateText(result, maxReasonLength);
    return {
      title: `svc ${argv.join(" ")}`,
      outcome: exit === 0 ? "" : `exit ${exit}`,
      command: formatCommandLine(argv),
      exit,
      value,
      output: stdout,
      notes: stderr,
      ...(exit === 0 ? {} : { error: `exit ${exit}: ${reason}` }),
    };
  },

  async advance({ advance }, environment) {
    const { ran, to, status, reason } = await environment.advance(getAdvanceTarget(advance));
    return {
      title: `advance ${advance}`,
      outcome: pluralize(ran.length, "scheduled entry", "scheduled entries"),
      value: { to: new Date(to).toISOString(), ran },
      ...(status === "done" ? {} : { error: `the clock advance stopped early: ${reason}` }),
    };
  },

  async as(step, environment) {
    const act = contractActions.find((action) => step[action] !== undefined)!;
    const operation = { sign: signContract, decline: declineContract, approve: approveContract }[act];
    const body = omitUndefined({ email: step.as === "next" ? undefined : step.as, note: step.note });
    const personName = step.as === "next" ? "the next person" : step.as;
    return {
      title: `as ${personName} ${act} ${step[act]}`,
      ...(await sendRequest(environment, operation, { params: { id: step[act] }, body })),
    };
  },

  async fault({ fault }, environment) {
    const { direction, ...faultFields } = fault as Record<string, unknown>;
    const effect = Object.entries(faultFields).map(([name, value]) => `${name} ${String(value)}`);
    const observation = await sendRequest(environment, addFault, { body: fault });
    return { title: `fault ${direction}: ${effect.join(", ")}`, ...observation, outcome: "" };
  },

  async receiver({ receiver: name, url, responses = 200, subscribe }, environment) {
    const list = responses === "down" ? responses : [responses].flat();
    const receiver = await environment.openReceiver(name, url, list);
    const description = url === undefined ? `responds ${[list].flat().join(", ")}` : "is your program";
    const title = `receiver ${name} ${description}`;
    if (subscribe === undefined) return { title, outcome: "", value: receiver };
    const only_for_activities = subscribe === "all" ? activities : subscribe;
    const observation = await sendRequest(environment, createWebhook, {
      body: { title: name, url: receiver.url, only_for_activities },
    });
    receiver.webhook = Number(toFields(observation.value).id);
    const number = subscribe === "all" ? "all activities" : pluralize(subscribe.length, "activity", "activities");
    return { title, ...observation, outcome: `subscribed to ${number}`, value: receiver };
  },

  async expect(step) {
    return { title: `expect ${Object.keys(step.expect).join(", ")}`, outcome: "" };
  },
};

function getAdvanceTarget(advance: string): AdvanceTarget {
  if (advance === "next") return { next: true };
  if (advance === "idle") return { untilIdle: true };
  return /^\d{4}-/.test(advance) ? { to: advance } : { by: advance };
}

export const getStepKind = (step: object): StepKind =>
  (Object.keys(stepSchemas) as StepKind[]).find((kind) => kind in step)!;

/** Runs a step other than a loop. The result has an error if the step cannot be run. */
export async function runStep(step: object, environment: ScenarioEnvironment): Promise<StepObservation> {
  const { expect, save: _, ...rest } = step as Record<string, unknown>;
  const kind = getStepKind(step) as Exclude<StepKind, "for each">;
  try {
    await settleReceivers(rest, environment);
    const resolvedStep = { ...resolveReferences(rest, environment.values), ...resolveLine(rest, environment) };
    const runner = stepRunners[kind] as StepRunner<StepKind>;
    const observation = await runner({ ...resolvedStep, expect } as never, environment);
    return { ...observation, contract: findContract(resolvedStep, observation) };
  } catch (error) {
    environment.signal.throwIfAborted();
    const title = `${kind} ${typeof rest[kind] === "string" ? rest[kind] : ""}`.trim();
    return { title, outcome: "", error: (error as Error).message };
  }
}

function findContract(step: object, { value, title }: StepObservation): string | undefined {
  const { composite_id, id } = toFields(value);
  const texts = [composite_id, id, title, JSON.stringify(step)];
  return /(?<![\w-])[TH]-\d+(?![\w-])/.exec(texts.join("\n"))?.[0];
}

/** Replaces the references in the words. A response value is never parsed as a flag. */
function resolveLine({ svc }: Partial<StepOf<"svc">>, { values }: ScenarioEnvironment): Partial<StepOf<"svc">> {
  if (svc === undefined) return {};
  const words = splitCommandLine(svc)!.map((word) => {
    const argument = formatInterpolatedValue(resolveReferences<unknown>(word, values));
    if (!word.startsWith("-") && argument.startsWith("-"))
      throw new UsageError(`${word} must not begin with a hyphen, got "${argument}". Use --flag=${word} for a value.`);
    return argument;
  });
  return { svc: words };
}

/** Completes the due deliveries if the step reads the deliveries of a receiver. */
async function settleReceivers(step: object, environment: ScenarioEnvironment): Promise<void> {
  const text = JSON.stringify(step);
  const isRead = [...environment.receivers.keys()].some((name) => text.includes(`$\{${name}.`));
  if (isRead) await environment.settle();
}

/** Returns an operation without its schemas, because the service validates the input. */
const omitSchemas = (operation: Operation): CallableOperation => ({
  ...operation,
  request: operation.request.body === undefined ? {} : { body: { kind: operation.request.body.kind } },
});

async function sendRequest(environment: ScenarioEnvironment, operation: Operation, args: CallArguments) {
  const { client } = environment;
  try {
    const response = await client.send(CheckedCall.check(omitSchemas(operation), args), { exactNumbers: true });
    const { status } = response;
    const value = isAsyncIterable(response.value) ? undefined : response.value;
    const outcome = [status, getName(toPlainNumbers(value))].join(" ").trim();
    return { status, outcome, value, output: formatJson(value) };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { status, problem, body } = error;
    const { items } = await client.call(listRequests, { query: { operation: operation.id, limit: 1 } });
    const failures = [items[0]?.failure, problem.code].filter((code) => typeof code === "string");
    const code = failures[0] === undefined ? "" : ` (${failures[0]})`;
    return {
      status,
      failures,
      value: body,
      outcome: `${status}${code}`,
      output: formatJson(body),
      error: `${operation.id} responded ${status}${code}: ${problem.message}`,
    };
  }
}

/** Finds the message and the details of an error, a document with --json. By default, returns the first line. */
function findErrorNote(stderr: string): string {
  const notes = stderr.trim().split("\n");
  const documents = notes.map((line) => toFields(toFields(tryParseJson(line)).error));
  const document = documents.find(({ message }) => typeof message === "string");
  const line = (notes.find((note) => note.startsWith("error: ")) ?? notes[0]!).replace(/^error: /, "");
  const details = notes.filter((note) => note.startsWith("  - ")).map((note) => note.slice(4));
  const sentences = document === undefined ? [line, ...details] : [document.message, document.details ?? []].flat();
  return sentences.join("; ").replace(":; ", ": ");
}

const formatJson = (value: unknown): string => (value === undefined ? "" : stringifyExact(value, 2));

function tryParseExactJson(text: string): unknown {
  const value = tryParseJson(text);
  return value === undefined ? undefined : restoreExactNumbers(text, value);
}

function getName(value: unknown): string {
  const { composite_id, id, contract_status } = toFields(value);
  const name = composite_id ?? id;
  return [name, contract_status].filter((value) => typeof value === "string" || typeof value === "number").join(" ");
}
