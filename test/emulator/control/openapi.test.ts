import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as declarations from "../../../src/api/registry.ts";
import { buildOpenApi, documentedServices } from "../../../src/derive/openapi.ts";
import { createSender, startTestEmulator } from "../../support/emulator.ts";

describe("OpenAPI document of a running emulator", () => {
  it("is served without authentication, as derived from the registry", async (t) => {
    const { controlUrl } = await startTestEmulator(t);
    const anybody = createSender(controlUrl);
    for (const service of documentedServices) {
      const { servers: _, ...expected } = JSON.parse(JSON.stringify(buildOpenApi(service, declarations)));
      const { status, body } = await anybody("GET", `/openapi/${service}.json`);
      const { servers, ...rest } = body as { servers: unknown };
      assert.deepEqual([status, rest], [200, expected]);
    }
  });

  it("lists reachable addresses under the host name of the request", async (t) => {
    const { routerUrl, clusters } = await startTestEmulator(t);
    const useLocalhost = (url: string) => url.replace("127.0.0.1", "localhost");
    const serversOf = async (service: string) => {
      const { body } = await createSender(useLocalhost(routerUrl))("GET", `/_emulator/openapi/${service}.json`);
      return (body as { servers: unknown }).servers;
    };
    const router = [{ url: useLocalhost(routerUrl), description: "This emulator" }];
    assert.deepEqual(await serversOf("router"), router);
    assert.deepEqual(await serversOf("emulator"), router);
    assert.deepEqual(
      await serversOf("contracts"),
      clusters.map(({ id, url }) => ({ url: useLocalhost(url), description: `Cluster ${id}` })),
    );
  });

  it("does not exist for the signed storage or other names", async (t) => {
    const { controlUrl } = await startTestEmulator(t);
    for (const name of ["storage.json", "router", "router.yaml"]) {
      assert.equal((await createSender(controlUrl)("GET", `/openapi/${name}`)).status, 400, name);
    }
  });
});
