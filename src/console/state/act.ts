import { computed, effect, signal, untracked } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { CallError, callOperation, connection } from "../api/call.ts";
import {
  formatApiCommand,
  getOutline,
  type OperationId,
  type OperationInput,
  type OperationResult,
  type UntypedInput,
} from "../api/operations.ts";
import { loadReadiness, readClock } from "./clock.ts";
import { readDeliveries, readFaults, readWebhooks } from "./deliveries.ts";
import { readRequests } from "./requests.ts";
import { getVersion, markAllChanged, type Topic } from "./route.ts";

/** The last action, with the equivalent command and its result. */
export interface PerformedAction {
  readonly command?: string | undefined;
  readonly state: "running" | "done" | "failed";
  readonly outcome?: ActionOutcome | undefined;
  readonly problem?: CallError | undefined;
}

/** Result of an action. Bad news has its own tone. */
export type ActionOutcome = string | { readonly tone: "good" | "warn" | "bad"; readonly words: string };

/** Counts replaced states, and gaps in the events, in which the state may have been replaced. */
export const replacedStates = signal(0);

export const lastAction = signal<PerformedAction | undefined>(undefined);

export const formatCommand = <Id extends OperationId>(id: Id, input?: OperationInput<Id>): string =>
  formatApiCommand(getOutline(id), input as UntypedInput | undefined);

/** A missing response is reported until the next response arrives. Whether the action succeeded is unknown. */
effect(() => {
  if (connection.value !== "live" && connection.value !== "polling") return;
  if (!untracked(() => lastAction.value?.problem?.isUnreachable)) return;
  const words = "The emulator responds again. Check whether the last action took effect";
  lastAction.value = { state: "done", outcome: { tone: "warn", words } };
});

/** Performs an action of the user. Returns undefined if it failed, which the foot of the page shows. */
export async function performAction<Id extends OperationId>(
  id: Id,
  input: OperationInput<Id>,
  message?: (answer: OperationResult<Id>) => ActionOutcome | Promise<ActionOutcome>,
  command = formatCommand(id, input),
): Promise<{ readonly answer: OperationResult<Id> } | undefined> {
  lastAction.value = { command, state: "running" };
  try {
    const answer = await (callOperation as (id: Id, input: OperationInput<Id>) => Promise<OperationResult<Id>>)(
      id,
      input,
    );
    lastAction.value = { command, state: "done", outcome: await message?.(answer) };
    return { answer };
  } catch (error) {
    const problem = error instanceof CallError ? error : new CallError(0, String(error));
    lastAction.value = { command, state: "failed", problem };
    return undefined;
  } finally {
    // Events report the result, unless the stream is closed.
    if (connection.value !== "live") void readAll();
    else markAllChanged();
  }
}

/**
 * Loads a response, and loads it again when one of the topics changes. The value is undefined until the first response,
 * and the last one stays until the next; `key` changes with the object.
 */
export function useLoaded<Value>(key: string, about: readonly Topic[], load: () => Promise<Value>) {
  const { value, problem, begin } = useMemo(() => createSource(about, load), [key]);
  useEffect(begin, [begin]);
  return { value: value.value, problem: problem.value };
}

function createSource<Value>(about: readonly Topic[], load: () => Promise<Value>) {
  const value = signal<Value | undefined>(undefined);
  const problem = signal<CallError | undefined>(undefined);
  let isUnderWay = false;
  let isStale = false;
  let isEnded = false;

  async function read(): Promise<void> {
    if (isUnderWay) {
      isStale = true;
      return;
    }
    isUnderWay = true;
    do {
      isStale = false;
      try {
        const found = await load();
        if (isEnded) return;
        value.value = found;
        problem.value = undefined;
      } catch (error) {
        // The foot of the page shows whether the emulator responds. After a reconnection, all is read again.
        if (!(error as CallError).isUnreachable) problem.value = error as CallError;
      }
    } while (isStale && !isEnded);
    isUnderWay = false;
  }

  return {
    value,
    problem,
    begin: () => {
      isEnded = false;
      const stop = effect(() => {
        for (const topic of about) getVersion(topic).value;
        void read();
      });
      return () => {
        isEnded = true;
        stop();
      };
    },
  };
}

/** Reads everything again, at the start and whenever the shown data may belong to another state. */
export async function readAll(): Promise<void> {
  markAllChanged();
  const reads = [readClock, loadReadiness, readDeliveries, readRequests, readFaults];
  await Promise.allSettled(reads.map((read) => read()));
}

/** Webhooks change with each attempt, and with requests that create or delete them, without an event. */
export const followWebhooks = (): void => {
  const version = computed(() => getVersion("deliveries").value + getVersion("requests").value);
  version.subscribe(() => void readWebhooks().catch(() => undefined));
};
