import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { base64 } from "../../src/api/contracts/shapes.ts";
import {
  bytes,
  empty,
  events,
  html,
  json,
  jsonOrForm,
  type Operation,
  passthrough,
  raw,
  redirect,
  stream,
} from "../../src/api/operation.ts";
import { contracts, emulator } from "../../src/api/services.ts";
import type { FlagSpec } from "../../src/derive/command-spec.ts";
import { deriveCommand } from "../../src/derive/commands.ts";
import { deriveSpecs } from "../../src/derive/specs.ts";

const base: Operation = {
  id: "things.show",
  service: contracts,
  summary: "Show a thing",
  method: "GET",
  path: "/things",
  auth: "none",
  request: {},
  responses: { 200: json(z.strictObject({ id: z.int(), owner: z.strictObject({ name: z.string() }) })) },
  failures: [],
  cli: { command: "things show" },
  basis: "specified",
  examples: [],
};
const derive = (changes: Partial<Operation>) => deriveCommand({ ...base, ...changes }, "router/proxied");
const deriveBodyFlags = (body: z.ZodType) =>
  derive({ method: "POST", request: { body: json(body) } }).flags.filter(({ target }) => target?.in === "body");
const getFlagNames = (flags: readonly FlagSpec[]) => flags.map(({ flag }) => flag);

describe("command of an operation", () => {
  it("consists of serializable data", () => {
    const spec = derive({
      path: "/things/{thing_id}/parts/{part}",
      request: { params: z.object({ thing_id: z.int().describe("Its id"), part: z.enum(["lid", "box"]) }) },
    });
    assert.deepEqual(JSON.parse(JSON.stringify(spec)), {
      words: ["things", "show"],
      summary: "Show a thing",
      positionals: [
        { name: "thing_id", description: "Its id", type: "integer" },
        { name: "part", description: "", type: "text", choices: ["lid", "box"] },
      ],
      flags: [],
      examples: [],
      id: "things.show",
      resource: "router/proxied",
      service: { name: "contracts" },
      method: "GET",
      path: "/things/{thing_id}/parts/{part}",
      auth: "none",
      request: {},
      responses: { 200: { kind: "json" } },
      output: "json",
      schemaChecked: [],
      fields: ["id", "owner"],
    });
  });

  it("derives flags from nullable scalars and file flags from base64", () => {
    const flags = deriveBodyFlags(
      z.object({
        note: z.string().nullish(),
        count: z.int().nullable(),
        urgent: z.boolean().nullish(),
        file: base64(z.string(), "Bytes"),
      }),
    );
    assert.deepEqual(
      flags.map(({ flag, type, placeholder, isBase64 }) => ({ flag, type, placeholder, isBase64 })),
      [
        { flag: "note", type: "text", placeholder: undefined, isBase64: undefined },
        { flag: "count", type: "integer", placeholder: undefined, isBase64: undefined },
        { flag: "urgent", type: "boolean", placeholder: undefined, isBase64: undefined },
        { flag: "body-file", type: "text", placeholder: "BASE64|@FILE", isBase64: true },
      ],
    );
  });

  it("lists inputs that require validation beyond type and choices", () => {
    const getSchemaChecked = (query: z.ZodObject) => derive({ request: { query } }).schemaChecked;
    const free = {
      text: z.string().describe("Any"),
      count: z.int().default(3),
      amount: z.number(),
      level: z.enum(["LOW", "HIGH"]).nullish(),
      urgent: z.boolean(),
      tags: z.array(z.string()),
    };
    assert.deepEqual(getSchemaChecked(z.object(free)), []);
    const ruled = {
      few: z.int().max(9),
      code: z.string().regex(/^[A-Z]$/),
      address: z.email(),
      short: z.string().max(3),
      some: z.array(z.string()).min(1),
    };
    assert.deepEqual(getSchemaChecked(z.object({ ...free, ...ruled })), Object.keys(ruled));
    assert.equal(getSchemaChecked(z.object({ even: z.int().refine((n) => n % 2 === 0) })), "all");
    assert.equal(getSchemaChecked(z.object(free).refine(({ count }) => count > 0)), "all");
    assert.equal(getSchemaChecked(z.object({ nested: z.object({ id: z.int() }) })), "all");
    const params = z.object({ thing: z.string().min(2), part: z.int() });
    assert.deepEqual(derive({ path: "/things/{thing}/{part}", request: { params } }).schemaChecked, ["thing"]);
    assert.equal(derive({ method: "POST", request: { body: json(z.object(free)) } }).schemaChecked, "all");
    assert.deepEqual(derive({ method: "POST", request: { body: raw() } }).schemaChecked, []);
  });

  it("derives flags from scalars of every type, required and with defaults", () => {
    const flags = deriveBodyFlags(
      z.object({
        plain_text: z.string().describe("Words"),
        amount: z.number().optional(),
        count: z.int().default(3),
        urgent: z.boolean().optional(),
        level: z.enum(["LOW", "HIGH"]).nullable().optional(),
        always: z.literal(true).optional(),
      }),
    );
    assert.deepEqual(
      flags.map(({ target, ...flag }) => flag),
      [
        { flag: "plain-text", type: "text", description: "Words", required: true },
        { flag: "amount", type: "number", description: "" },
        { flag: "count", type: "integer", description: "", default: 3 },
        { flag: "urgent", type: "boolean", description: "" },
        { flag: "level", type: "text", description: "", choices: ["LOW", "HIGH"] },
        { flag: "always", type: "switch", description: "" },
      ],
    );
  });

  it("derives repeatable flags from lists, and leaves nested fields to --data and --set", () => {
    const schema = z.object({
      ids: z.array(z.string()).nullable().optional(),
      nested: z.object({ a: z.string() }),
      rows: z.array(z.object({ a: z.string() })),
      free: z.record(z.string(), z.string()),
    });
    const spec = derive({ method: "POST", request: { body: json(schema) } });
    assert.deepEqual(getFlagNames(spec.flags), ["ids", "data", "set", "dry-run"]);
    assert.equal(spec.flags[0]?.repeatable, true);
  });

  it("lengthens a flag whose name is already used", () => {
    const spec = derive({
      method: "POST",
      request: {
        query: z.object({ page: z.int().optional(), json: z.string().optional() }),
        body: json(z.object({ page: z.int(), data: z.string(), "filter[$eq]": z.string() })),
      },
    });
    const targeted = spec.flags.filter(({ target }) => target);
    assert.deepEqual(getFlagNames(targeted), ["page", "query-json", "body-page", "body-data", "filter-eq"]);
    assert.equal(targeted.at(-1)?.target?.name, "filter[$eq]");
  });

  it("adds flags for each kind of request and response body", () => {
    const kinds: [string, Partial<Operation>, string[]][] = [
      ["raw", { method: "POST", request: { body: raw() } }, ["file", "content-type", "dry-run"]],
      ["stream", { method: "PUT", request: { body: stream({ maxBytes: 1 }) } }, ["file", "content-type", "dry-run"]],
      [
        "form or JSON",
        { method: "POST", request: { body: jsonOrForm(z.object({ a: z.string() })) } },
        ["a", "data", "set", "dry-run"],
      ],
      ["html", { responses: { 200: html() } }, ["output"]],
      ["bytes", { responses: { 200: bytes("application/pdf") } }, ["output"]],
      ["events", { responses: { 200: events(z.object({})) } }, ["follow"]],
      ["redirect", { responses: { 302: redirect() } }, []],
      ["passthrough", { responses: { 200: passthrough() } }, []],
      ["empty", { responses: { 204: empty() } }, []],
      ["control plane", { service: emulator }, ["file"]],
      [
        "a name to confirm",
        { method: "DELETE", cli: { command: "things drop", confirm: "name" } },
        ["dry-run", "confirm"],
      ],
    ];
    for (const [label, changes, expected] of kinds)
      assert.deepEqual(getFlagNames(derive(changes).flags), expected, label);
  });

  it("accepts the HTTP method as an argument if there are several", () => {
    const spec = derive({
      method: ["GET", "POST"],
      path: "/{full_path}",
      request: { params: z.object({ full_path: z.string() }) },
    });
    assert.deepEqual(
      spec.positionals.map(({ name, choices }) => [name, choices]),
      [
        ["method", ["GET", "POST"]],
        ["full_path", undefined],
      ],
    );
  });

  it("lists the fields of nested rows", () => {
    const rows = z.strictObject({ total: z.int(), items: z.array(z.strictObject({ id: z.int(), at: z.string() })) });
    assert.deepEqual(derive({ responses: { 200: json(rows) }, cli: { command: "a b", rows: "items" } }).fields, [
      "id",
      "at",
    ]);
    assert.deepEqual(derive({ responses: { 200: json(z.array(z.strictObject({ x: z.int() }))) } }).fields, ["x"]);
    assert.deepEqual(derive({ responses: { 200: json(z.record(z.string(), z.int())) } }).fields, []);
  });

  it("has the words of a hand-written command of the operation", () =>
    assert.deepEqual(derive({ cli: { by: "things do" } }).words, ["things", "do"]));

  it("derives examples with flags, --set, and a pipe for large bodies", () => {
    const schema = z.object({
      name: z.string(),
      tags: z.array(z.string()),
      ok: z.boolean(),
      deep: z.object({}).loose(),
    });
    const example = (body: unknown) => {
      const { argv, stdin } = derive({
        method: "POST",
        path: "/things/{id}",
        request: { params: z.object({ id: z.int() }), body: json(schema) },
        examples: [{ title: "One", params: { id: 7 }, body }],
      }).examples[0]!;
      return [...argv, ...(stdin === undefined ? [] : ["<", stdin])].join(" ");
    };
    assert.equal(
      example({ name: "Ada", tags: ["x", "y"], ok: false, deep: { a: { b: 1 } } }),
      "things show 7 --name Ada --tags x --tags y --no-ok --set deep.a.b=1",
    );
    const long = { name: "Ada", deep: Object.fromEntries([..."abcdefghijk"].map((key) => [key, 1])) };
    assert.equal(example(long), `things show 7 --data - < ${JSON.stringify(long)}`);
  });

  it("combines a raw body from stdin with query flags", () => {
    const { examples } = derive({
      method: "POST",
      request: { query: z.object({ at: z.int() }), body: raw() },
      examples: [{ title: "One", query: { at: 5 }, body: { type: "x" } }],
    });
    assert.deepEqual(examples, [
      { title: "One", argv: ["things", "show", "--at", "5", "--file", "-"], stdin: '{"type":"x"}' },
    ]);
  });
});

it("derives only columns that are fields of the response", () => {
  // Keys have more members than the declared ones (RFC 7517).
  const specs = Object.values(deriveSpecs())
    .flat()
    .filter(({ id, fields }) => fields.length > 0 && id !== "oidc.jwks");
  const unknownColumns = specs.flatMap(({ id, columns = [], fields }) =>
    columns
      .map((column) => (typeof column === "string" ? column : column.name))
      .filter((name) => !fields.includes(name.split(".")[0]!))
      .map((name) => `${id} has a column ${name}, but its response has only ${fields.join(", ")}`),
  );
  assert.deepEqual(unknownColumns, []);
});
