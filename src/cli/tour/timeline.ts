import { tryParseJson } from "../../base/object.ts";

/** One attempt to reach the dead receiver. */
export interface TimelineRow {
  readonly attempt: number;
  /** Virtual time. */
  readonly at: string;
  readonly minutes: number;
  readonly outcome: string;
}

interface DeliveryRow {
  readonly attempts: readonly { number: number; at: string; status: number | null; error: { code: string } | null }[];
}

/** The attempts of the first delivery that `svc emulator deliveries` has printed. */
export function timelineOf(output: string): readonly TimelineRow[] {
  const [delivery] = (tryParseJson(output) ?? []) as readonly DeliveryRow[];
  const attempts = delivery?.attempts ?? [];
  const start = Date.parse(attempts[0]?.at ?? "");
  return attempts.map(({ number, at, status, error }) => ({
    attempt: number,
    at,
    minutes: Math.round((Date.parse(at) - start) / 60_000),
    outcome: status === null ? (error?.code ?? "no answer") : `status ${status}`,
  }));
}
