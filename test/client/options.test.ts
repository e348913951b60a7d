import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClient } from "../../src/client/index.ts";

const made = (options?: object) => () => createClient(options as Parameters<typeof createClient>[0]);
const baseUrls = { router: "http://127.0.0.1:1" };

describe("the options of a client", () => {
  for (const [what, options, message] of [
    ["is misspelt", { baseUrl: {} }, 'unknown option "baseUrl". Did you mean baseUrls?'],
    [
      "is misspelt, of an address",
      { baseUrls: { contract: "x" } },
      'baseUrls: unknown option "contract". Did you mean contracts?',
    ],
    [
      "is misspelt, of the credentials",
      { baseUrls, credentials: { clientID: "x" } },
      'credentials: unknown option "clientID". Did you mean clientId?',
    ],
    ["is missing", {}, "baseUrls: at least one of router, contracts, emulator is required"],
    ["is missing, as all are", undefined, "baseUrls: at least one of router, contracts, emulator is required"],
    [
      "comes from a variable that is not set",
      { baseUrls: { router: undefined } },
      "baseUrls: at least one of router, contracts, emulator is required",
    ],
    ["is no URL", { baseUrls: { router: "localhost:4010" } }, "baseUrls.router must be an http:// or https:// URL"],
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
    ["is no amount", { baseUrls, timeoutMs: "5s" }, "timeoutMs must be a number, 0 or more"],
  ] as const) {
    it(`are rejected if one ${what}`, () => {
      assert.throws(made(options), { name: "TypeError", message: `createClient: ${message}` });
    });
  }
});

describe("the arguments of a call", () => {
  const client = createClient({ baseUrls });
  const call = (id: string, args?: object, options?: object) =>
    (client.call as (...given: unknown[]) => Promise<unknown>)(id, args, options);

  for (const [what, given, message] of [
    ["is called by nobody", ["contracts.statu"], "Operation contracts.statu not found. Did you mean contracts.status?"],
    [
      "is called by nobody, though others of its resource are",
      ["organizations.nope"],
      "Operation organizations.nope not found. Operations of the resource: organizations.entities, organizations.types.",
    ],
    ["is called by nobody, like no other", ["nope"], "Operation nope not found. operationIds lists all operations."],
    ["takes no body", ["health.show", { body: 1 }], "health.show: body: the operation accepts none"],
    ["takes no such part", ["health.show", { param: {} }], 'health.show: unknown option "param". Did you mean params?'],
    [
      "takes no such option",
      ["health.show", {}, { timeout: 1 }],
      'health.show: the options of a request: unknown option "timeout". Did you mean timeoutMs?',
    ],
    [
      "is of a service whose address is not known",
      ["clock.show"],
      "clock.show requires the option baseUrls.emulator of createClient",
    ],
  ] as const) {
    it(`are rejected if the operation ${what}`, async () => {
      await assert.rejects(call(...(given as [string])), { message });
    });
  }
});
