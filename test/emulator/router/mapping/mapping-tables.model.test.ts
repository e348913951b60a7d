import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import fc from "fast-check";
import { addCleanup } from "../../../support/cleanup.ts";
import {
  bulkOperations,
  type ClusterId,
  createBulkBody,
  type RoutedEmulator,
  startRoutedEmulator,
} from "../../../support/routed-emulator.ts";

const tables = Object.keys(bulkOperations) as (keyof typeof bulkOperations)[];
const ids = ["a", "b", "c", "__proto__", "é/?#%"];

/** Requests that look up an identifier, by table. */
const asks = {
  emails: (id) => `/x?email_hash=${id}`,
  clients: (id) => `/x?client_id=${id}`,
  creators: (id) => `/x?creator_token=${id}`,
  counterparties: (id) => `/x?cp_token=${id}`,
  teams: (id) => `/x?team_id=${id}`,
  integrations: (id) => `/x?external_id=${id}`,
} satisfies Record<keyof typeof bulkOperations, (id: string) => string>;

const offboardField = {
  emails: "email_hash_list",
  clients: "client_ids",
  creators: "creator_tokens",
  counterparties: "cp_tokens",
  teams: "chat_a_team_id_list",
} as const;

type Step =
  | {
      readonly action: "map" | "unmap";
      readonly table: keyof typeof bulkOperations;
      readonly cluster: ClusterId;
      readonly list: string[];
    }
  | { readonly action: "offboard"; readonly cluster: ClusterId; readonly list: string[] }
  | { readonly action: "restart" };

const cluster = fc.constantFrom<ClusterId>("eu-1", "us-1");
const list = fc.array(fc.constantFrom(...ids), { maxLength: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ action: fc.constant("map"), table: fc.constantFrom(...tables), cluster, list }) },
  {
    weight: 4,
    arbitrary: fc.record({ action: fc.constant("unmap"), table: fc.constantFrom(...tables), cluster, list }),
  },
  { weight: 1, arbitrary: fc.record({ action: fc.constant("offboard"), cluster, list }) },
  { weight: 1, arbitrary: fc.record({ action: fc.constant("restart") }) },
) as fc.Arbitrary<Step>;

/** Owners by table and identifier. */
type Model = Map<string, ClusterId>;

/** Applies a step, and returns how many identifiers moved from another cluster. */
function apply(model: Model, step: Step): number | undefined {
  if (step.action === "restart") return undefined;
  const drop = (table: string) => {
    for (const id of step.list) if (model.get(`${table} ${id}`) === step.cluster) model.delete(`${table} ${id}`);
  };
  if (step.action === "unmap") drop(step.table);
  if (step.action === "offboard") for (const table of tables) drop(table);
  if (step.action !== "map") return undefined;
  const keys = [...new Set(step.list)].map((id) => `${step.table} ${id}`);
  const moved = keys.filter((key) => model.has(key) && model.get(key) !== step.cluster).length;
  for (const key of keys) model.set(key, step.cluster);
  return moved;
}

async function send(emulator: RoutedEmulator, step: Exclude<Step, { action: "restart" }>): Promise<number | undefined> {
  const response =
    step.action === "offboard"
      ? await emulator.router("DELETE", `/router/v1/clusters/${step.cluster}/workspace-data`, {
          body: {
            ...Object.fromEntries(Object.values(offboardField).map((field) => [field, step.list])),
            external_integrations: [{ external_id_list: step.list, integration_type: "CHAT_B" }],
          },
        })
      : await emulator.router(step.action === "map" ? "POST" : "DELETE", bulkOperations[step.table].path, {
          body: createBulkBody(step.table, step.cluster, step.list),
        });
  assert.deepEqual([response.status, response.body], [200, true]);
  const moved = response.headers.get("x-svc-moved");
  return moved === null ? undefined : Number(moved);
}

/** Requests the path of every identifier of every table, and compares the reached clusters. */
async function compare(emulator: RoutedEmulator, model: Model): Promise<void> {
  emulator.listForwarded();
  for (const table of tables) {
    for (const id of ids) {
      const path = asks[table](encodeURIComponent(id));
      await emulator.router("GET", path);
      const owner = model.get(`${table} ${id}`);
      const expected = ["eu-1", "us-1"].filter((name) => owner === undefined || owner === name);
      assert.deepEqual(
        emulator.listForwarded(),
        expected.map((name) => `${name.slice(0, 2)} GET ${path}`),
      );
    }
  }
}

it("mapping tables match a simple model after any sequence of operations and restarts", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "svc-model-"));
  addCleanup(t, () => rm(folder, { recursive: true, force: true }));
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
      run += 1;
      const file = join(folder, `${run}.json`);
      let emulator = await startRoutedEmulator(t, { file });
      const model: Model = new Map();
      for (const step of steps) {
        const moved = apply(model, step);
        if (step.action === "restart") {
          const { eu, us } = emulator;
          await emulator.close();
          emulator = await startRoutedEmulator(t, { file, behind: { eu, us } });
        } else {
          assert.equal(await send(emulator, step), moved);
        }
      }
      await compare(emulator, model);
      await emulator.close();
    }),
    { numRuns: 12 },
  );
});
