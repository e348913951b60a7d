import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createContractRequest } from "../../support/contracts.ts";
import { createSender, pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";

const create = "/api/v2.1/public/contracts/";
const health = "/";

describe("fault for incoming requests", () => {
  it("can be added, counted and removed", async (t) => {
    const { control, router } = await startTestEmulator(t);
    const fault = { id: 1, direction: "incoming", nth: 1, chance: 1, seed: 1, operation: "health.show", status: 503 };
    const rule = { direction: "incoming", operation: "health.show", status: 503 };
    assert.deepEqual(pickStatusAndBody(await control("POST", "faults", { body: rule })), {
      status: 201,
      body: { ...fault, matched: 0, hit: 0 },
    });
    assert.deepEqual(pickStatusAndBody(await router("GET", health)), {
      status: 503,
      body: { detail: "This is a scripted fault of the control plane." },
    });
    assert.deepEqual(pickStatusAndBody(await control("GET", "faults")), {
      status: 200,
      body: [{ ...fault, matched: 1, hit: 1 }],
    });
    assert.deepEqual(pickStatusAndBody(await control("DELETE", "faults/1")), { status: 204, body: "" });
    assert.deepEqual(pickStatusAndBody(await router("GET", health)), { status: 200, body: { database: true } });
    assert.deepEqual(pickStatusAndBody(await control("DELETE", "faults/1")), {
      status: 404,
      body: {
        error: {
          code: "no_such_fault",
          message: "Fault 1 not found.",
          hint: "List them with `svc emulator fault list`.",
        },
      },
    });
  });

  it("affects a number of requests starting at its nth match", async (t) => {
    const { control, api } = await startTestEmulator(t);
    await control("POST", "faults", {
      body: { direction: "incoming", operation: "contracts.create", status: 502, nth: 2, count: 2 },
    });
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await api("POST", create, { body: createContractRequest() })).status);
    assert.deepEqual(statuses, [201, 502, 502, 201, 201]);
    const { body } = await api("GET", create);
    assert.equal((body as { total_results: number }).total_results, 3);
  });

  it("sends its status with headers and body", async (t) => {
    const { control, router } = await startTestEmulator(t);
    await control("POST", "faults", {
      body: {
        direction: "incoming",
        status: 429,
        response_headers: { "retry-after": "7" },
        response_body: { detail: "Slow down" },
      },
    });
    const response = await router("GET", health);
    assert.deepEqual(pickStatusAndBody(response), { status: 429, body: { detail: "Slow down" } });
    assert.equal(response.headers.get("retry-after"), "7");
  });

  const narrow = [
    ["service", { service: "contracts" }],
    ["method", { method: "PUT" }],
    ["path", { path: "/router/*/x*/" }],
    ["header name", { header: "x-probe" }],
    ["header value", { header: "Accept: text/x-other" }],
    ["operation", { operation: "contracts.create" }],
  ] as const;
  for (const [label, matcher] of narrow) {
    it(`does not affect requests with a different ${label}`, async (t) => {
      const { control, router } = await startTestEmulator(t);
      await control("POST", "faults", { body: { direction: "incoming", status: 503, ...matcher } });
      assert.equal((await router("GET", health)).status, 200);
    });
  }

  const wide = [
    ["service", { service: "router" }],
    ["method", { method: "GET" }],
    ["path", { path: "/*" }],
    ["header name", { header: "X-Probe" }],
    ["header value", { header: "x-probe: yes" }],
  ] as const;
  for (const [label, matcher] of wide) {
    it(`matches requests by ${label}`, async (t) => {
      const { control, router } = await startTestEmulator(t);
      await control("POST", "faults", { body: { direction: "incoming", status: 503, ...matcher } });
      assert.equal((await router("GET", health, { headers: { "x-probe": "yes" } })).status, 503);
    });
  }

  it("delays, resets and truncates responses", async (t) => {
    const { control, router } = await startTestEmulator(t);
    const add = (body: object) => control("POST", "faults", { body: { direction: "incoming", count: 1, ...body } });
    await add({ reset: true });
    await assert.rejects(router("GET", health), /ECONNRESET|other side closed/);
    await add({ truncated: true });
    await assert.rejects(router("GET", health), /terminated|other side closed/);
    await add({ latency_ms: 40 });
    const before = performance.now();
    assert.equal((await router("GET", health)).status, 200);
    assert.ok(performance.now() - before >= 39);
  });

  it("affects a forwarded request once", async (t) => {
    const running = await startTestEmulator(t);
    const { clientId = "", clientSecret = "" } = running.clusters[0]!;
    const viaRouter = createSender(running.routerUrl, { "client-id": clientId, "client-secret": clientSecret });
    await running.control("POST", "faults", { body: { direction: "incoming", path: "/api/*", status: 503, nth: 2 } });
    assert.equal((await viaRouter("POST", create, { body: createContractRequest() })).status, 201);
    assert.deepEqual(await listFaultCounts(running), [{ matched: 1, hit: 0 }]);
    await running.control("DELETE", "faults/1");
    // A fault with a service applies to the cluster behind the router.
    await running.control("POST", "faults", { body: { direction: "incoming", service: "contracts", status: 503 } });
    assert.equal((await viaRouter("POST", create, { body: createContractRequest() })).status, 503);
  });

  it("never affects the control plane, so that it can be removed", async (t) => {
    const { control } = await startTestEmulator(t);
    await control("POST", "faults", { body: { direction: "incoming", reset: true } });
    assert.equal((await control("GET", "clock")).status, 200);
    assert.equal((await control("GET", "nothing-here")).status, 404);
    assert.equal((await control("DELETE", "faults/1")).status, 204);
  });

  it("waits until an older fault no longer applies", async (t) => {
    const { control, router } = await startTestEmulator(t);
    for (const status of [500, 418]) {
      await control("POST", "faults", { body: { direction: "incoming", operation: "health.show", status, count: 2 } });
    }
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1) statuses.push((await router("GET", health)).status);
    assert.deepEqual(statuses, [500, 500, 418, 418, 200]);
  });

  it("affects the same requests in every run with the same seed and probability", async (t) => {
    const run = async (seed: number) => {
      const { control, router } = await startTestEmulator(t);
      await control("POST", "faults", { body: { direction: "incoming", status: 503, chance: 0.5, seed } });
      const statuses: number[] = [];
      for (let i = 0; i < 24; i += 1) statuses.push((await router("GET", health)).status);
      return statuses.map((status) => (status === 503 ? "x" : ".")).join("");
    };
    const [first, again, differing] = [await run(1), await run(1), await run(2)];
    assert.equal(again, first);
    assert.notEqual(differing, first);
    assert.match(first, /x.*\.|\..*x/);
  });

  it("rejects an unknown operation", async (t) => {
    const { control } = await startTestEmulator(t);
    assert.deepEqual(
      pickStatusAndBody(
        await control("POST", "faults", { body: { direction: "incoming", status: 503, operation: "contracts.crate" } }),
      ),
      { status: 400, body: { error: { code: "invalid_input", message: "operation: contracts.crate not found" } } },
    );
  });

  const mistakes = [
    [{ direction: "incoming" }, "one of latency_ms, reset, status and truncated is required"],
    [{ direction: "outgoing" }, "effect is required"],
    [{ direction: "incoming", status: 503, path: "api/*" }, "path must start with /"],
    [{ direction: "incoming", status: 503, effect: "drop" }, "effect cannot be used with direction incoming"],
    [{ direction: "outgoing", effect: "drop", status: 503 }, "status cannot be used with direction outgoing"],
    [{ direction: "incoming", reset: true, response_body: 1 }, "response_body requires status"],
    [{ direction: "outgoing", effect: "drop", delay: "PT5M" }, "delay requires the effect delay or reorder"],
    [
      createHeaderFault("x-note", "a\r\nset-cookie: b"),
      "response_headers.x-note must be ISO-8859-1 without control characters",
    ],
    [createHeaderFault("x-note", "漢"), "response_headers.x-note must be ISO-8859-1"],
    [createHeaderFault("x note", "a"), "response_headers.x note must be letters, digits and"],
    [createHeaderFault("Content-Length", "5"), "response_headers.Content-Length: is set by the emulator"],
  ] as const;
  for (const [body, words] of mistakes) {
    it(`rejects an invalid fault: ${words}`, async (t) => {
      const { control } = await startTestEmulator(t);
      const { status, body: errorBody } = await control("POST", "faults", { body });
      assert.equal(status, 400);
      const { error } = errorBody as { error: { code: string; message: string } };
      assert.equal(error.code, "invalid_input");
      assert.ok(error.message.includes(words), error.message);
      assert.deepEqual((await control("GET", "faults")).body, []);
    });
  }
});

function createHeaderFault(name: string, value: string) {
  return { direction: "incoming", status: 503, response_headers: { [name]: value } } as const;
}

async function listFaultCounts({ control }: TestEmulator) {
  const { body } = await control("GET", "faults");
  return (body as { matched: number; hit: number }[]).map(({ matched, hit }) => ({ matched, hit }));
}
