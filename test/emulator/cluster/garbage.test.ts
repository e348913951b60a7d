import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Operation } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import { fillTemplate, findPlaceholders } from "../../../src/base/urls.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";

const operations = (registry as readonly Operation[]).filter(({ service }) => service.name === "contracts");

const strange: readonly unknown[] = [
  null,
  true,
  -1,
  1e308,
  2 ** 53,
  "",
  "\u0000",
  "\ud800",
  "x".repeat(70_000),
  [],
  [null],
  [[[[]]]],
  {},
  { toString: "x", constructor: {}, length: -1 },
];

const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
const rawBodies: readonly string[] = [
  "",
  "{",
  "nul",
  deep,
  `{"a":${deep}}`,
  '{"__proto__":{"x":1}}',
  "\u0000",
  '{"a":1}{"b":2}',
];

/** Variants of an example body, each with one value replaced by an unusual value. */
function* generateInvalidVariants(example: unknown): Generator<unknown> {
  if (Array.isArray(example)) {
    for (const [index, item] of example.entries()) {
      for (const worse of [...strange, ...generateInvalidVariants(item)]) yield example.with(index, worse);
    }
  } else if (typeof example === "object" && example !== null) {
    for (const name of [...Object.keys(example), "__proto__", "constructor", "unheard_of"]) {
      const inner = Object.hasOwn(example, name) ? (example as Record<string, unknown>)[name] : undefined;
      for (const value of [...strange, ...generateInvalidVariants(inner)]) {
        // Assigning to __proto__ would change the prototype instead of adding a key.
        yield Object.defineProperty({ ...example }, name, { value, enumerable: true, configurable: true });
      }
    }
  }
}

const strangeIds = [
  "0",
  "-1",
  "1e3",
  "9".repeat(30),
  "T-",
  "T-0",
  "T-1x",
  "__proto__",
  "%00",
  "%ff",
  "..",
  "a b",
  "é",
  "%2e%2e",
];

/** Sends one request and returns the problem of the response. */
async function findServerError(
  api: TestEmulator["api"],
  method: string,
  path: string,
  body?: string,
): Promise<string[]> {
  const headers = { "content-type": "application/json" };
  const { status } = await api(method, path, body === undefined ? {} : { body, headers });
  return status < 500 ? [] : [`${status} for ${method} ${path} ${body?.slice(0, 200)}`];
}

/** An object of each kind with the ID in the examples. */
async function createRows(api: TestEmulator["api"]): Promise<void> {
  const poc_details = { first_name: "Jo", last_name: "Diaz", email: "jo@acme.example" };
  const counter_party_details = [{ is_individual: false, organization_name: "Acme Corp", poc_details }];
  const contract = { contract_template_id: 101, contract_data: {}, counter_party_details };
  const created = [
    await api("POST", "/api/v2.1/public/contracts/", { body: contract }),
    await api("POST", "/api/v1/public/legal_intake/", { body: { title: "Help", workflow_id: 201 } }),
  ];
  assert.deepEqual(
    created.map(({ status }) => status),
    [201, 201],
  );
}

describe("garbage input to the contract API", () => {
  for (const { id, method, path, request, examples } of operations) {
    it(`never causes a server error in ${id}`, async (t) => {
      const { api } = await startTestEmulator(t);
      await createRows(api);
      const verb = String(method);
      const names = findPlaceholders(path);
      const [example] = examples;
      const usual = fillTemplate(path, {
        ...Object.fromEntries(names.map((name) => [name, "T-1"])),
        ...example?.params,
      });

      const problems: string[] = [];
      const probe = async (target: string, body?: string) =>
        problems.push(...(await findServerError(api, verb, target, body)));
      for (const strangeId of strangeIds) {
        for (const name of names)
          await probe(path.replace(`{${name}}`, strangeId).replace(/\{\w+\}/g, "1"), verb === "GET" ? undefined : "{}");
      }
      for (const query of [
        "page=0&limit=x",
        "page=1e9&sort=__proto__",
        "%ff=%00",
        "filter__priority[$in]=\\",
        "a".repeat(5_000),
      ]) {
        if (verb === "GET") await probe(`${usual}?${query}`);
      }
      if (request.body?.kind === "json") {
        for (const body of rawBodies) await probe(usual, body);
        for (const value of strange) await probe(usual, JSON.stringify(value));
        for (const body of generateInvalidVariants(example?.body ?? {})) await probe(usual, JSON.stringify(body));
      }
      assert.deepEqual(problems, []);
    });
  }
});
