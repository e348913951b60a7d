import { computed, signal } from "@preact/signals";
import { systemWall } from "../../base/clock.ts";

/** After so long people wonder whether anything goes on. */
const patienceMs = 5_000;

const late = signal(0);

/** Whether something was asked that is not answered yet, and should be by now. */
export const isSlow = computed(() => late.value > 0);

/** Says so while an answer takes long. */
export async function watched<Value>(answer: Promise<Value>): Promise<Value> {
  const answered = new AbortController();
  void systemWall.sleep(patienceMs, answered.signal).then(() => {
    if (answered.signal.aborted) return;
    late.value += 1;
    answered.signal.addEventListener("abort", () => {
      late.value -= 1;
    });
  });
  try {
    return await answer;
  } finally {
    answered.abort();
  }
}
