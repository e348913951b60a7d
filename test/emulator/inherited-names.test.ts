import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { fillTemplate, findPlaceholders } from "../../src/base/urls.ts";
import { createDraftContract } from "../support/contracts.ts";
import { createSender, startTestEmulator } from "../support/emulator.ts";
import { inheritedNames } from "../support/inherited-names.ts";
import { createTemporaryFolder } from "../support/store.ts";

/** The first operation ends the emulator, and the response of the second one has no end. */
const leftOut = ["emulator.stop", "events.watch"];
const operations = (registry as readonly Operation[]).filter(
  ({ id, request }) => !leftOut.includes(id) && request.body?.kind !== "stream",
);

/** Replaces every string of the value with a word, and adds a member of that name to every object. */
function replaceStrings(value: unknown, word: string): unknown {
  if (typeof value === "string") return word;
  if (Array.isArray(value)) return value.map((each) => replaceStrings(each, word));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries([
    ...Object.entries(value).map(([name, each]) => [name, replaceStrings(each, word)]),
    [word, word],
  ]);
}

/** Builds a request for an operation that contains one word in every position. */
function createRequest(operation: Operation, word: string) {
  const { path, request, examples, method } = operation;
  const names = Object.keys(request.query?.shape ?? {});
  const query = new URLSearchParams([...names, word].map((name): [string, string] => [name, word]));
  const intakeBody = replaceStrings(examples.find((example) => "body" in example)?.body ?? {}, word);
  const isForm = request.body?.kind === "form";
  const body = isForm
    ? new URLSearchParams(intakeBody as Record<string, string>).toString()
    : JSON.stringify(intakeBody);
  const filledPath = fillTemplate(path, Object.fromEntries(findPlaceholders(path).map((name) => [name, word])));
  const only = [method].flat()[0]!;
  return {
    method: only,
    path: `${filledPath}?${query}`,
    headers: {
      "content-type": isForm ? "application/x-www-form-urlencoded" : "application/json",
      ...(word === "__proto__" ? {} : { [word]: word }),
    },
    ...(only === "GET" ? {} : { body }),
  };
}

describe("name of an inherited object property", () => {
  for (const [inherited, harmless] of inheritedNames) {
    it(`has the same effect as ${harmless} in every operation: ${inherited}`, async (t) => {
      const log: string[] = [];
      const worlds = [
        await startTestEmulator(t, { log: (line) => log.push(line) }),
        await startTestEmulator(t),
      ] as const;
      for (const operation of operations) {
        const statuses = await Promise.all(
          [inherited, harmless].map(async (word, at) => {
            const emulator = worlds[at]!;
            const [first] = emulator.clusters;
            const key = { "client-id": first!.clientId!, "client-secret": first!.clientSecret! };
            const auth = operation.auth === "api-key" ? key : { authorization: `Bearer ${emulator.token}` };
            const isCluster = ["contracts", "storage"].includes(operation.service.name);
            const { method, path, headers, ...rest } = createRequest(operation, word);
            const send = createSender(isCluster ? first!.url : emulator.routerUrl, { ...auth, ...headers });
            return (await send(method, path, rest)).status;
          }),
        );
        assert.equal(statuses[0], statuses[1], `${operation.id}: ${statuses.join(" instead of ")}`);
        assert.ok(statuses[0]! < 500 || statuses[0] === 501, `${operation.id} answered ${statuses[0]}`);
      }
      assert.deepEqual(log, []);
    });
  }

  it("is rejected as a grant type of a cluster", async (t) => {
    const { clusters } = await startTestEmulator(t);
    for (const [grant_type] of inheritedNames) {
      const response = await createSender(clusters[0]!.url)("POST", "/api/v1/oauth/token/", {
        body: new URLSearchParams({ grant_type }).toString(),
        headers: { "content-type": "application/x-www-form-urlencoded" },
      });
      assert.deepEqual([response.status, (response.body as { error: string }).error], [400, "unsupported_grant_type"]);
    }
  });

  it("is stored with its value as a free-form key, also after a restart", async (t) => {
    const file = join(await createTemporaryFolder(t), "emulator.json");
    const first = await startTestEmulator(t, { file });
    // Long documents have a separate check.
    const long = "1".repeat(2_000);
    const oddData = JSON.parse(`{"a":"${long}","__proto__":"2","constructor":"3"}`) as object;
    const { id } = await createDraftContract(first.api, { external_metadata: { id: "deal-42", record_data: oddData } });
    const intake = { title: "Help", workflow_id: 201, metadata: oddData };
    const contract = `/api/v2.1/public/contracts/${id}`;
    const responses = [
      await first.api("POST", "/api/v1/public/legal_intake/", { body: intake }),
      await first.api("PATCH", `${contract}/contract_data`, { body: { data: oddData } }),
    ].map(({ body }) => body as Record<string, object>);
    assert.deepEqual(
      responses.map(({ metadata, data }) => JSON.stringify(metadata ?? data)),
      [JSON.stringify(oddData), JSON.stringify(oddData)],
    );
    await first.close();

    const { api } = await startTestEmulator(t, { file });
    const read = async (path: string) => JSON.stringify((await api("GET", path)).body);
    const metadata = { external_metadata: { id: "deal-42", record_data: oddData } };
    assert.equal(await read(`${contract}/external_metadata`), JSON.stringify(metadata));
    const questionnaire = await read(
      "/api/v2.1/public/contracts/1/questionnaire/responses/?questionnaire_type=TEMPLATE",
    );
    assert.ok(questionnaire.includes(JSON.stringify(oddData)), questionnaire);
    assert.ok((await read("/api/v1/public/legal_intake/1/")).includes(JSON.stringify(oddData)));
  });
});
