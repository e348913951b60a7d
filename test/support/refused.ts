import assert from "node:assert/strict";
import { type Answer, plain, type TestEmulator } from "./emulator.ts";

/**
 * Asserts status and whole body of a refusal, and that the state is the same as before, to the last row.
 * `takesBack`: that something was written while a cluster was asked, and taken back; its cause is then remembered.
 */
export async function assertRefused(
  { ask }: Pick<TestEmulator, "ask">,
  send: () => Promise<Answer>,
  expected: { readonly status: number; readonly body: unknown },
  { takesBack = false } = {},
): Promise<void> {
  await quiet({ ask });
  const state = async () => {
    const { status, body } = await ask("GET", "state");
    assert.equal(status, 200);
    const { rows, ...rest } = body as { rows: Record<string, unknown> };
    return { ...rest, rows: takesBack ? { ...rows, causes: "left out" } : rows };
  };
  const before = await state();
  assert.deepEqual(plain(await send()), expected);
  assert.deepEqual(await state(), before);
}

/** Waits until nothing is left to do at the present time: what clusters report goes out after the answer. */
export async function quiet({ ask }: Pick<TestEmulator, "ask">): Promise<void> {
  for (let looks = 0; looks < 20_000; looks += 1) {
    const { now, next_due } = (await ask("GET", "clock")).body as { now: string; next_due: string | null };
    if (next_due === null || next_due > now) return;
  }
  throw new Error("Something is due and is not done");
}

/** Shape A with the words for what a path does not name (DECISIONS.md, C1). */
export const notFound = { status: 404, body: { detail: "Not found." } } as const;

/** What the control plane says to a token that it does not know. */
export const unknownToken = {
  status: 401,
  body: {
    error: {
      code: "unknown_token",
      message: "The control token is invalid: it is unknown or revoked, or its session has ended.",
      hint: "Use the token in the run file next to the state. `svc emulator tokens list` lists the others.",
    },
  },
};
