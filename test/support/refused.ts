import assert from "node:assert/strict";
import { type Answer, plain, type TestEmulator } from "./emulator.ts";

/** Asserts status and whole body of a refusal, and that the state is the same as before, to the last row. */
export async function assertRefused(
  { ask }: Pick<TestEmulator, "ask">,
  send: () => Promise<Answer>,
  expected: { readonly status: number; readonly body: unknown },
): Promise<void> {
  const before = await ask("GET", "state");
  assert.equal(before.status, 200);
  assert.deepEqual(plain(await send()), expected);
  assert.deepEqual((await ask("GET", "state")).body, before.body);
}

/** Shape A with the words for what a path does not name (DECISIONS.md, C1). */
export const notFound = { status: 404, body: { detail: "Not found." } } as const;
