import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import {
  bytes,
  empty,
  events,
  form,
  html,
  json,
  jsonOrForm,
  type Operation,
  passthrough,
  raw,
  redirect,
} from "../../src/api/operation.ts";
import { contracts, router } from "../../src/api/services.ts";
import { oneOf } from "../../src/api/shapes.ts";
import { buildOpenApi, type DocumentedService } from "../../src/derive/openapi.ts";

const Inner = z.strictObject({ at: z.iso.datetime(), note: z.string().optional() });
const Outer = z.strictObject({ id: z.int(), inner: Inner, more: z.array(Inner.describe("What else")) });
const names = new Map<z.ZodType, string>([
  [Inner, "Inner"],
  [Outer, "Outer"],
]);

/** An integer in the range that JSON represents without loss. */
const integer = {
  type: "integer",
  format: "int64",
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};

const plain: Operation = {
  id: "things.show",
  service: contracts,
  summary: "Show a thing",
  method: "GET",
  path: "/things/{thing_id}",
  auth: "none",
  request: {},
  responses: { 200: empty() },
  failures: [],
  cli: { command: "things show" },
  basis: "specified",
  examples: [],
};

/** The document after a JSON round trip, loosely typed for assertions. */
// biome-ignore lint/suspicious/noExplicitAny: a document of unknown depth, compared with literals.
const buildDocument = (operations: Operation[], service: DocumentedService = "contracts"): any =>
  JSON.parse(JSON.stringify(buildOpenApi(service, { registry: operations, schemaNames: names })));

const describeOne = (change: Partial<Operation>) => {
  const operation = { ...plain, ...change };
  const method = [operation.method].flat()[0]!.toLowerCase();
  return buildDocument([operation], operation.service.name as DocumentedService).paths[operation.path][method];
};

describe("OpenAPI document", () => {
  it("describes path, query and header parameters in this order, with examples", () => {
    const { parameters } = describeOne({
      request: {
        params: z.object({ thing_id: z.int().describe("Id of the thing") }),
        query: z.object({ page: z.int().min(1).default(1), tag: z.array(z.string()) }),
        headers: z.object({ "x-trace": z.string().optional() }),
      },
      examples: [{ title: "The first one", params: { thing_id: 7 } }],
    });
    assert.deepEqual(parameters, [
      {
        name: "thing_id",
        in: "path",
        required: true,
        description: "Id of the thing",
        schema: integer,
        examples: { "the-first-one": { summary: "The first one", value: 7 } },
      },
      { name: "page", in: "query", required: false, schema: { ...integer, default: 1, minimum: 1 } },
      { name: "tag", in: "query", required: true, schema: { type: "array", items: { type: "string" } } },
      { name: "x-trace", in: "header", required: false, schema: { type: "string" } },
    ]);
  });

  const document = { type: "object", properties: { a: { type: "string" } }, required: ["a"] };
  const A = z.object({ a: z.string() });
  const requests = {
    json: [json(A), { "application/json": { schema: document } }],
    form: [form(A), { "application/x-www-form-urlencoded": { schema: document } }],
    // Generators make awkward clients of two media types, and the other one is only tolerated.
    jsonOrForm: [jsonOrForm(A), { "application/json": { schema: document } }],
    "standard form": [
      jsonOrForm(A, { formIsStandard: true }),
      { "application/x-www-form-urlencoded": { schema: document } },
    ],
    raw: [raw(), { "*/*": { schema: { description: "Forwarded byte for byte" } } }],
  } as const;
  for (const [kind, [body, content]] of Object.entries(requests)) {
    it(`describes a request body of kind ${kind}`, () =>
      assert.deepEqual(describeOne({ method: "POST", request: { body } }).requestBody, {
        required: kind !== "raw",
        content,
      }));
  }

  it("makes a body optional if an empty object is valid", () => {
    const optional = z.object({ a: z.string().optional() });
    const bodies = {
      json: json(optional),
      form: form(z.object({})),
      needed: json(A),
      // The handler rejects a body without one of the fields.
      oneField: json(optional.meta(oneOf("a", "b"))),
    };
    const required = (service: typeof contracts | typeof router) =>
      Object.values(bodies).map(
        (body) => describeOne({ service, method: "POST", request: { body } }).requestBody.required,
      );
    assert.deepEqual(
      [required(contracts), required(router)],
      [
        [false, false, true, true],
        [true, false, true, true],
      ],
    );
  });

  it("makes credentials optional if the specification does", () => {
    assert.deepEqual(describeOne({ service: router, auth: "cluster-key" }).security, [{ clusterKey: [] }, {}]);
    assert.deepEqual(describeOne({ service: router, auth: "bearer" }).security, [{ accessToken: [] }, {}]);
    assert.deepEqual(describeOne({ auth: "api-key" }).security, [{ clientId: [], clientSecret: [] }]);
  });

  it("describes a known forwarded response and allows others", () => {
    const { responses } = describeOne({ responses: { 200: passthrough(A) } });
    const { 200: success, default: otherResponse } = responses;
    assert.deepEqual(success.content, { "application/json": { schema: document } });
    assert.deepEqual(otherResponse.content, { "*/*": {} });
  });

  it("names a schema despite a different description", () => {
    const { paths } = buildDocument([{ ...plain, responses: { 200: json(z.object({ in: Inner.describe("Here") })) } }]);
    assert.deepEqual(paths["/things/{thing_id}"].get.responses[200].content["application/json"].schema.properties.in, {
      $ref: "#/components/schemas/Inner",
      description: "Here",
    });
  });

  it("writes custom formats as patterns, and a tuple as a list of two", () => {
    const Odd = z.object({ path: z.string().startsWith("/"), pair: z.tuple([z.string(), z.string()]) });
    const { properties } = describeOne({ responses: { 200: json(Odd) } }).responses[200].content["application/json"]
      .schema;
    assert.deepEqual(properties, {
      path: { type: "string", pattern: "^\\/.*" },
      pair: { type: "array", items: { type: "string" }, minItems: 2, maxItems: 2 },
    });
  });

  it("writes a body with a default as its schema, which can have a name", () => {
    const at = "2031-01-01T00:00:00Z";
    for (const schema of [Inner.default({ at }), Inner.prefault({ at })]) {
      assert.deepEqual(describeOne({ method: "POST", request: { body: json(schema) } }).requestBody, {
        required: false,
        content: { "application/json": { schema: { $ref: "#/components/schemas/Inner" } } },
      });
    }
  });

  it("includes example bodies and whether a body is optional", () => {
    const { requestBody } = describeOne({
      method: "POST",
      request: { body: json(A.optional()) },
      examples: [{ title: "With a, and b!", body: { a: "1" } }],
    });
    assert.deepEqual(requestBody, {
      required: false,
      content: {
        "application/json": {
          schema: document,
          examples: { "with-a-and-b": { summary: "With a, and b!", value: { a: "1" } } },
        },
      },
    });
  });

  const text = { schema: { type: "string" } };
  const responses = {
    json: [json(z.strictObject({ a: z.string() })), { "application/json": { schema: document } }],
    html: [html(), { "text/html": text }],
    // Generators return nothing for content without a schema.
    bytes: [bytes("application/pdf"), { "application/pdf": { schema: { type: "string", format: "binary" } } }],
    "bytes of text": [bytes("text/plain", "text/csv"), { "text/plain": text, "text/csv": text }],
    events: [events(A), { "text/event-stream": { schema: { type: "string", "x-event": document } } }],
    passthrough: [passthrough(), { "*/*": {} }],
    empty: [empty(), undefined],
  } as const;
  for (const [kind, [body, content]] of Object.entries(responses)) {
    it(`describes a response of kind ${kind}`, () =>
      assert.deepEqual(describeOne({ responses: { 200: body } }).responses[200].content, content));
  }

  it("describes the target of a redirect", () =>
    assert.deepEqual(Object.keys(describeOne({ responses: { 302: redirect() } }).responses[302].headers), [
      "location",
    ]));

  it("allows additional properties in responses", () =>
    assert.equal(
      JSON.stringify(buildDocument([{ ...plain, responses: { 200: json(Outer) } }])).includes("additional"),
      false,
    ));

  it("describes a named schema once and refers to it with local descriptions", () => {
    const { components, paths } = buildDocument([
      { ...plain, responses: { 200: json(Outer) } },
      { ...plain, id: "things.inner", path: "/inner", responses: { 200: json(Inner) } },
    ]);
    const inner = { $ref: "#/components/schemas/Inner" };
    assert.deepEqual(paths["/inner"].get.responses[200].content["application/json"].schema, inner);
    const { Detail: _, ...namedSchemas } = components.schemas;
    assert.deepEqual(namedSchemas, {
      Inner: {
        type: "object",
        properties: { at: { type: "string", format: "date-time" }, note: { type: "string" } },
        required: ["at"],
      },
      Outer: {
        type: "object",
        properties: { id: integer, inner, more: { type: "array", items: { ...inner, description: "What else" } } },
        required: ["id", "inner", "more"],
      },
    });
  });

  it("uses two names for a schema that differs between request and response", () => {
    const Page = z.object({ page: z.int().default(1) });
    const build = buildOpenApi("contracts", {
      registry: [{ ...plain, method: "POST", request: { body: json(Page) }, responses: { 200: json(Page) } }],
      schemaNames: new Map([[Page, "Page"]]),
    });
    const { components } = JSON.parse(JSON.stringify(build));
    assert.deepEqual([components.schemas.Page.required, components.schemas.PageInput.required], [["page"], undefined]);
  });

  it("uses the plain name for a schema of requests alone", () => {
    const Page = z.object({ page: z.int().default(1) });
    const build = buildOpenApi("contracts", {
      registry: [{ ...plain, method: "POST", request: { body: json(Page) } }],
      schemaNames: new Map([[Page, "Page"]]),
    });
    const { components } = JSON.parse(JSON.stringify(build));
    assert.deepEqual(Object.keys(components.schemas), ["Detail", "DetailOrFieldErrors", "FieldErrors", "Page"]);
  });

  it("lists the strictest failure body first, because generated clients take the first that fits", () => {
    const request = { query: z.object({ page: z.int().optional() }) };
    const { components } = buildDocument([{ ...plain, request, failures: ["cannot-void-executed", "no-signatories"] }]);
    assert.deepEqual(components.schemas.DomainErrorOrDetailOrFieldErrors, {
      anyOf: ["DomainError", "Detail", "FieldErrors"].map((name) => ({ $ref: `#/components/schemas/${name}` })),
    });
  });

  it("merges failures with the same status, with all examples and bases", () => {
    const { responses } = describeOne({
      service: router,
      auth: "cluster-key",
      failures: ["unknown-cluster", "no-email-mapping"],
    });
    assert.deepEqual(responses[404], {
      description:
        "unknown-cluster: the cluster named in the body or the path does not exist.\nno-email-mapping: the e-mail hash has no cluster mapping.",
      content: {
        "application/json": {
          schema: { $ref: "#/components/schemas/Detail" },
          examples: {
            "unknown-cluster": {
              summary: "the cluster named in the body or the path does not exist",
              value: { detail: "Unknown cluster: <cluster>" },
            },
            "no-email-mapping": {
              summary: "the e-mail hash has no cluster mapping",
              value: { detail: "No cluster mapping for this email hash" },
            },
          },
        },
      },
      "x-failures": [
        {
          code: "unknown-cluster",
          when: "the cluster named in the body or the path does not exist",
          "x-basis": "assumed",
          "x-basis-reason": "The response for an unknown cluster is not specified (DECISIONS.md, R7).",
        },
        {
          code: "no-email-mapping",
          when: "the e-mail hash has no cluster mapping",
          "x-basis": "assumed",
          "x-basis-reason": "The response for a missing mapping is not specified (DECISIONS.md, R8).",
        },
      ],
    });
  });

  it("lists all body formats of failures with the same status", () => {
    const { responses } = describeOne({ method: "POST", request: { body: json(A) } });
    assert.deepEqual(responses[400].content["application/json"].schema, {
      $ref: "#/components/schemas/DetailOrFieldErrors",
    });
    assert.deepEqual(responses[400].content["application/json"].examples["invalid-fields"].value, {
      "<field>": ["<message>"],
    });
  });

  it("lists only the applicable failures of the service", () => {
    const statuses = (change: Partial<Operation>) => Object.keys(describeOne(change).responses);
    assert.deepEqual(statuses({}), ["200", "429", "503"]);
    assert.deepEqual(statuses({ auth: "api-key" }), ["200", "401", "403", "429", "503"]);
    assert.deepEqual(statuses({ method: "POST", request: { body: json(A) } }), [
      "200",
      "400",
      "413",
      "415",
      "429",
      "503",
    ]);
  });

  it("states the operation's purpose, credentials, activities and basis", () => {
    const { parameters, responses, ...rest } = describeOne({
      auth: "api-key",
      emits: ["CONTRACT_CREATED"],
      basis: { assumed: "Nobody knows." },
      description: "A longer story.",
    });
    assert.deepEqual(rest, {
      operationId: "things.show",
      tags: ["things"],
      summary: "Show a thing",
      description: "A longer story.",
      security: [{ clientId: [], clientSecret: [] }],
      "x-command": "svc things show",
      "x-emits": ["CONTRACT_CREATED"],
      "x-basis": "assumed",
      "x-basis-reason": "Nobody knows.",
    });
    assert.deepEqual(parameters, [{ $ref: "#/components/parameters/UserEmail" }]);
    assert.equal(Object.keys(responses).length, 5);
  });

  it("assigns an operationId to each method of a catch-all", () => {
    const { paths } = buildDocument([{ ...plain, id: "catch-all", method: ["GET", "DELETE"], path: "/{full_path}" }]);
    const { get, delete: remove } = paths["/{full_path}"];
    assert.deepEqual([get.operationId, remove.operationId], ["catch-all.get", "catch-all.delete"]);
  });

  it("contains one service and only the used components", () => {
    const { paths, components, info } = buildDocument(
      [plain, { ...plain, id: "r", service: router, path: "/r" }],
      "router",
    );
    assert.deepEqual([Object.keys(paths), info.title, info.version], [["/r"], "Routing service", "0.1.0"]);
    assert.deepEqual(components, {
      schemas: { Detail: components.schemas.Detail },
      parameters: {},
      securitySchemes: {},
    });
  });

  it("rejects a service without operations", () =>
    assert.throws(() => buildDocument([plain], "emulator"), /no operation of emulator/));
});
