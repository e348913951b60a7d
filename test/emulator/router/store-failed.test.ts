import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultSettings } from "../../../emulator/domain/settings.ts";
import { createPart } from "../../../emulator/http/handler.ts";
import { createListener } from "../../../emulator/http/listener.ts";
import { createForwarder } from "../../../emulator/http/outgoing/forward.ts";
import { RequestLog } from "../../../emulator/http/request-log/request-log.ts";
import { IssuerKeys } from "../../../emulator/router/apps/issuer-keys.ts";
import { type RouterContext, routerAuthenticators } from "../../../emulator/router/context.ts";
import { routerHandlers } from "../../../emulator/router/handlers.ts";
import { mappingTables } from "../../../emulator/router/mapping/tables.ts";
import { overrideMethods } from "../../../emulator/store/causes.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { type Store, StoreFailedError } from "../../../emulator/store/port.ts";
import { registry } from "../../../src/api/registry.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { createRandomIds } from "../../../src/base/ids.ts";
import { createSender, pickStatusAndBody } from "../../support/emulator.ts";
import { bulkOperations, createBulkBody } from "../../support/routed-emulator.ts";

/** Starts a router whose disk rejects every write and permits reads. */
async function startWithFailedDisk(t: { after(end: () => Promise<void>): void }) {
  const store = openMemoryStore({ collections: Object.values(mappingTables), wall: systemWallClock });
  await store.transaction("test", (tx) => tx.map(mappingTables.cluster_emails, "eu-1", ["a"]));
  const refusing = overrideMethods<Store>(store, {
    transaction: () => Promise.reject(new StoreFailedError("no space left")),
    writable: false,
  });

  const forwarder = createForwarder({ wall: systemWallClock, pseudonym: "test" });
  const url = "http://127.0.0.1:9";
  const context: RouterContext = {
    ...{
      store: refusing,
      clock: systemWallClock,
      wall: systemWallClock,
      ids: createRandomIds(),
      settings: defaultSettings,
      forwarder,
    },
    clusters: [{ id: "eu-1", label: "eu", key: "k", destinations: [], url, internalUrl: url, external: true }],
    isInSeedOrder: () => true,
    hasAccount: () => false,
    hideControlTokens: (text) => text,
    issuerKeys: new IssuerKeys({ wall: systemWallClock, settings: defaultSettings, forwarder }),
  };
  const operations = registry.filter(({ service }) => service.name === "router");
  const parts = [
    createPart({ operations, handlers: routerHandlers, authenticate: routerAuthenticators, context }),
  ] as const;
  const shared = {
    wall: systemWallClock,
    settings: defaultSettings,
    log: new RequestLog(defaultSettings.requestLogBytes),
  };
  const listener = createListener({ ...shared, name: "router" });
  listener.open({ parts, clock: systemWallClock });
  t.after(async () => {
    await listener.close();
    await forwarder.close();
  });
  return createSender(await listener.listen(0));
}

describe("a router with a read-only disk", () => {
  it("reports the failure in its health, serves lookups and rejects every change", async (t) => {
    const send = await startWithFailedDisk(t);
    assert.deepEqual(pickStatusAndBody(await send("GET", "/")), { status: 200, body: { database: false } });
    assert.deepEqual(pickStatusAndBody(await send("GET", "/router/v1/cluster_emails/email/a")), {
      status: 200,
      body: { email_hash: "a", cluster_id: "eu-1" },
    });

    const rejection = { status: 503, body: { detail: "The service cannot write its state" } };
    for (const table of Object.keys(bulkOperations) as (keyof typeof bulkOperations)[]) {
      for (const method of ["POST", "DELETE"]) {
        assert.deepEqual(
          pickStatusAndBody(
            await send(method, bulkOperations[table].path, { body: createBulkBody(table, "eu-1", ["a"]) }),
          ),
          rejection,
        );
      }
    }
    assert.deepEqual(
      pickStatusAndBody(await send("DELETE", "/router/v1/clusters/eu-1/workspace-data", { body: {} })),
      rejection,
    );
    const signatory = { signatory_hash: "h", cluster: "eu-1" };
    assert.deepEqual(
      pickStatusAndBody(await send("POST", "/router/v1/contract_signatories/", { body: signatory })),
      rejection,
    );
    assert.deepEqual(
      pickStatusAndBody(await send("POST", "/router/v1/mailer/inbound/blackhole", { body: "x" })),
      rejection,
    );
  });
});
