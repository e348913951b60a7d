import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as declarations from "../../../src/api/registry.ts";
import { buildOpenApi, documentedServices } from "../../../src/derive/openapi.ts";
import { emulator, plain, sender } from "../../support/emulator.ts";

describe("the OpenAPI documents of a running emulator", () => {
  it("are served to anybody, as the registry makes them", async (t) => {
    const { controlUrl } = await emulator(t);
    const anybody = sender(controlUrl);
    for (const service of documentedServices) {
      const expected = JSON.parse(JSON.stringify(buildOpenApi(service, declarations)));
      assert.deepEqual(plain(await anybody("GET", `/openapi/${service}.json`)), { status: 200, body: expected });
    }
  });

  it("are none for the signed storage, nor under another name", async (t) => {
    const { controlUrl } = await emulator(t);
    for (const name of ["storage.json", "router", "router.yaml"]) {
      assert.equal((await sender(controlUrl)("GET", `/openapi/${name}`)).status, 400, name);
    }
  });
});
