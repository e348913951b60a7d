import assert from "node:assert/strict";
import { pickStatusAndBody, type TestEmulator } from "../../support/emulator.ts";
import type { Receiver } from "../../support/receiver.ts";

/** Subscribes a receiver to activities of contracts, and returns the ID of the webhook. */
export async function createWebhook(
  { api }: TestEmulator,
  url: string,
  ...activities: readonly string[]
): Promise<number> {
  const only_for_activities = activities.length > 0 ? activities : ["CONTRACT_CREATED", "CONTRACT_SIGNED"];
  const { status, body } = await api("POST", "/api/v2.1/public/webhooks/", {
    body: { title: "Hooks", url, only_for_activities },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return (body as { id: number }).id;
}

export async function save({ control }: TestEmulator, name: string): Promise<void> {
  const response = await control("PUT", `snapshots/${name}`);
  assert.equal(response.status, 201, JSON.stringify(response.body));
}

/** Restores a snapshot, and returns the response. */
export async function restore({ control }: TestEmulator, name: string): Promise<RestoreResult> {
  const { status, body } = pickStatusAndBody(await control("POST", `snapshots/${name}/restore`));
  assert.equal(status, 200, JSON.stringify(body));
  return body as RestoreResult;
}

interface RestoreResult {
  readonly name: string;
  readonly now: string;
  readonly backup_snapshot: string | null;
  readonly dropped: readonly { readonly kind: string; readonly ref: string }[];
}

/** Returns the exported state. */
export const getState = async ({ control }: Pick<TestEmulator, "control">): Promise<unknown> =>
  (await control("GET", "state")).body;

/** Returns the target, the raw headers and the body of each request that a receiver got from an index on. */
export const getRequestBytesSince = ({ received }: Receiver, from: number): readonly string[] =>
  received.slice(from).map(({ url, rawHeaders, body }) => [url, ...rawHeaders, body.toString("latin1")].join("\n"));
