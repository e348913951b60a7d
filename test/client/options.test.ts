import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClient } from "../../src/client/index.ts";

const createClientLater = (options?: object) => () => createClient(options as Parameters<typeof createClient>[0]);
const baseUrls = { router: "http://127.0.0.1:1" };

describe("validation of createClient options", () => {
  for (const [label, options, message] of [
    ["is misspelled", { baseUrl: {} }, 'unknown option "baseUrl". Did you mean baseUrls?'],
    [
      "is a misspelled service in baseUrls",
      { baseUrls: { contract: "x" } },
      'baseUrls: unknown option "contract". Did you mean contracts?',
    ],
    [
      "is a misspelled credential",
      { baseUrls, credentials: { clientID: "x" } },
      'credentials: unknown option "clientID". Did you mean clientId?',
    ],
    ["is required but missing", {}, "baseUrls: at least one of router, contracts, emulator is required"],
    [
      "is missing because no options are given",
      undefined,
      "baseUrls: at least one of router, contracts, emulator is required",
    ],
    [
      "is required but undefined",
      { baseUrls: { router: undefined } },
      "baseUrls: at least one of router, contracts, emulator is required",
    ],
    ["is not a URL", { baseUrls: { router: "localhost:4010" } }, "baseUrls.router must be an http:// or https:// URL"],
    [
      "is a URL with a query",
      { baseUrls: { router: "http://svc.example/?a=b" } },
      "baseUrls.router must be a URL without credentials, query, fragment and spaces",
    ],
    [
      "is a URL with credentials",
      { baseUrls: { router: "http://ann:hunter2@svc.example" } },
      "baseUrls.router must be a URL without credentials, query, fragment and spaces",
    ],
    ["is not a number", { baseUrls, timeoutMs: "5s" }, "timeoutMs must be a number, 0 or more"],
  ] as const) {
    it(`rejects an option that ${label}`, () => {
      assert.throws(createClientLater(options), { name: "TypeError", message: `createClient: ${message}` });
    });
  }
});

describe("validation of client.call arguments", () => {
  const client = createClient({ baseUrls });
  const call = (id: string, args?: object, options?: object) =>
    (client.call as (...callArgs: unknown[]) => Promise<unknown>)(id, args, options);

  for (const [label, callArgs, message] of [
    ["is misspelled", ["contracts.statu"], "Operation contracts.statu not found. Did you mean contracts.status?"],
    [
      "is unknown but whose resource has operations",
      ["organizations.nope"],
      "Operation organizations.nope not found. Operations of the resource: organizations.entities, organizations.types.",
    ],
    ["is unknown and resembles no other", ["nope"], "Operation nope not found. operationIds lists all operations."],
    ["accepts no body", ["health.show", { body: 1 }], "health.show: body: the operation accepts none"],
    [
      "does not accept the given argument",
      ["health.show", { param: {} }],
      'health.show: unknown option "param". Did you mean params?',
    ],
    [
      "does not accept the given option",
      ["health.show", {}, { timeout: 1 }],
      'health.show: the options of a request: unknown option "timeout". Did you mean timeoutMs?',
    ],
    [
      "sends bytes and gets an object without readable bytes",
      ["chat-a.event", { body: new Blob(["x"]) }],
      "chat-a.event: body: must be bytes, a string or a stream of bytes",
    ],
    [
      "belongs to a service without a base URL",
      ["clock.show"],
      "clock.show requires the option baseUrls.emulator of createClient",
    ],
  ] as const) {
    it(`rejects an operation that ${label}`, async () => {
      await assert.rejects(call(...(callArgs as [string])), { message });
    });
  }
});
