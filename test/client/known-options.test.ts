import assert from "node:assert/strict";
import { it } from "node:test";
import { createClient } from "../../src/client/index.ts";

it("a client refuses an option that there is none of, and names the nearest", () => {
  const made = (options: object) => () => createClient(options as Parameters<typeof createClient>[0]);
  const says = (message: string) => ({ name: "TypeError", message: `createClient: ${message}` });
  assert.throws(made({ baseUrl: {} }), says('there is no option "baseUrl". Did you mean baseUrls?'));
  assert.throws(
    made({ baseUrls: { contract: "x" } }),
    says('baseUrls: there is no option "contract". Did you mean contracts?'),
  );
  assert.throws(
    made({ baseUrls: {}, credentials: { clientID: "x" } }),
    says('credentials: there is no option "clientID". Did you mean clientId?'),
  );
});
