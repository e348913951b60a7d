import assert from "node:assert/strict";
import { pickStatusAndBody, type TestEmulator, type TestResponse } from "./emulator.ts";

/**
 * Asserts the status and the whole body of a rejection, and that all rows of the state are unchanged. With `takesBack`,
 * a change was written during a request to a cluster and rolled back, and its cause is retained.
 */
export async function assertRejected(
  { control }: Pick<TestEmulator, "control">,
  send: () => Promise<TestResponse>,
  expected: { readonly status: number; readonly body: unknown },
  { takesBack = false } = {},
): Promise<void> {
  await waitUntilIdle({ control });
  const state = async () => {
    const { status, body } = await control("GET", "state");
    assert.equal(status, 200);
    const { rows, ...rest } = body as { rows: Record<string, unknown> };
    return { ...rest, rows: takesBack ? { ...rows, causes: "left out" } : rows };
  };
  const before = await state();
  assert.deepEqual(pickStatusAndBody(await send()), expected);
  assert.deepEqual(await state(), before);
}

/** Waits until no job is due, because reports of clusters are sent after the response. */
export async function waitUntilIdle({ control }: Pick<TestEmulator, "control">): Promise<void> {
  for (let looks = 0; looks < 20_000; looks += 1) {
    const { now, next_due } = (await control("GET", "clock")).body as { now: string; next_due: string | null };
    if (next_due === null || next_due > now) return;
  }
  throw new Error("Something is due and is not done");
}

/** Response of shape A to a path without an object (DECISIONS.md, C1). */
export const notFoundResponse = { status: 404, body: { detail: "Not found." } } as const;

/** Response of the control plane to an unknown token. */
export const unknownTokenResponse = {
  status: 401,
  body: {
    error: {
      code: "unknown_token",
      message: "The control token is invalid: it is unknown or revoked, or its session has ended.",
      hint: "Use the token in the run file next to the state, or request another token from the operator of the emulator: svc emulator tokens create NAME --role ROLE.",
    },
  },
};
