import { computed, signal } from "@preact/signals";
import { systemWallClock } from "../../base/clock.ts";
import { toFields } from "../../base/object.ts";
import { fillTemplate } from "../../base/urls.ts";
import {
  getOutline,
  type OperationId,
  type OperationInput,
  type OperationResult,
  type UntypedInput,
} from "./operations.ts";
import { CallError } from "./problem.ts";
import { forgetSession, getSessionHeaders } from "./session.ts";

/** `lost` means that a connection failed or was not opened in time. */
export type Connection = "connecting" | "live" | "reconnecting" | "lost";

/** Whether the view follows the emulator. */
export const connection = signal<Connection>("connecting");

/**
 * Counts requests that failed without a connection, because a stream can stay open although no events arrive.
 */
export const failedCallCount = signal(0);

type InputArguments<Id extends OperationId> =
  Record<never, never> extends OperationInput<Id> ? [input?: OperationInput<Id>] : [input: OperationInput<Id>];

/** Calls an operation of the control plane. Throws a CallError unless it succeeds. */
export async function callOperation<Id extends OperationId>(
  id: Id,
  ...[input]: InputArguments<Id>
): Promise<OperationResult<Id>> {
  const { method, path } = getOutline(id);
  const { params, query, body } = (input ?? {}) as UntypedInput;
  // The page is served next to the control plane, also behind a proxy with a path prefix.
  const url = path.replace("/_emulator/", "../");
  const target = fillTemplate(url, toFields(params) as Record<string, string | number>) + formatQuery(query);
  const response = await trackSlowness(
    fetch(target, {
      method,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...getSessionHeaders(),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: "error",
    }).catch(() => {
      failedCallCount.value += 1;
      throw CallError.createUnreachable();
    }),
  );
  const answer = await read(response);
  if (response.status === 401) forgetSession();
  if (!response.ok) throw CallError.fromResponse(response.status, answer);
  return answer as OperationResult<Id>;
}

function formatQuery(query: object | undefined): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined) search.append(name, String(value));
  }
  return search.size > 0 ? `?${search}` : "";
}

async function read(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** How long a response may take before the page reports it. */
export const patienceMs = 5_000;

const pendingLate = signal(0);

/** Whether a response is overdue. */
export const isSlow = computed(() => pendingLate.value > 0);

/** Counts a response as slow until it arrives. */
async function trackSlowness<Value>(answer: Promise<Value>): Promise<Value> {
  const settledController = new AbortController();
  void systemWallClock.sleep(patienceMs, settledController.signal).then(() => {
    if (settledController.signal.aborted) return;
    pendingLate.value += 1;
    settledController.signal.addEventListener("abort", () => {
      pendingLate.value -= 1;
    });
  });
  try {
    return await answer;
  } finally {
    settledController.abort();
  }
}
