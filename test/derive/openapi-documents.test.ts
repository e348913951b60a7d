import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import { Validator } from "@seriousme/openapi-schema-validator";
import * as declarations from "../../src/api/registry.ts";
import { buildOpenApi, documentedServices } from "../../src/derive/openapi.ts";

const config = await createConfig({
  extends: ["recommended"],
  rules: {
    // The paths are the specification's.
    "no-path-trailing-slash": "off",
    // The specification defines these paths as well. A literal segment takes precedence over a parameter.
    "no-ambiguous-paths": "off",
    // Operations such as health and discovery accept no invalid request.
    "operation-4xx-response": "off",
    // A tag is a resource, which its operations describe.
    "tag-description": "off",
    // A condition (if, not) requires what the schema around it defines, which this rule does not see.
    "no-required-schema-properties-undefined": "off",
    // Examples may hold fields that the service ignores, as real senders do.
    "no-invalid-media-type-examples": { severity: "error", allowAdditionalProperties: true },
    "no-invalid-parameter-examples": { severity: "error", allowAdditionalProperties: true },
  },
});

const capitalize = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

/** Every object in a document, however deep. */
const listObjects = (value: unknown): Readonly<Record<string, unknown>>[] =>
  typeof value !== "object" || value === null
    ? []
    : [...(Array.isArray(value) ? [] : [{ ...value }]), ...Object.values(value).flatMap(listObjects)];

for (const service of documentedServices) {
  describe(`OpenAPI document of ${service}`, () => {
    const document = buildOpenApi(service, declarations);

    it("passes a public validator for OpenAPI 3.1", async () => {
      const { valid, errors } = await new Validator().validate(structuredClone(document));
      assert.deepEqual({ valid, errors }, { valid: true, errors: undefined });
    });

    it("passes a public OpenAPI linter", async () => {
      const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: "openapi.json", config });
      const messages = problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`);
      assert.deepEqual(messages, []);
    });

    it("contains every operation of the service with a unique ID", () => {
      const ids = Object.values(document.paths as Record<string, Record<string, { operationId: string }>>)
        .flatMap((item) => Object.values(item))
        .map(({ operationId }) => operationId);
      const expected = declarations.registry
        .filter((operation) => operation.service.name === service)
        .flatMap(({ id, method }) =>
          Array.isArray(method) ? method.map((verb) => `${id}.${verb.toLowerCase()}`) : [id],
        );
      assert.deepEqual(ids.toSorted(), expected.toSorted());
    });

    it("avoids schema names that generators use for responses", () => {
      const schemas = (document.components as { schemas: object }).schemas;
      const responseNames = declarations.registry.map(
        ({ id }) => `${id.split(/[.-]/).map(capitalize).join("")}Response`,
      );
      assert.deepEqual(
        responseNames.filter((name) => Object.hasOwn(schemas, name)),
        [],
      );
    });

    it("marks every number that does not fit into 32 bits", () => {
      const long = listObjects(document).filter(({ minimum, maximum }) =>
        [minimum, maximum].some((limit) => typeof limit === "number" && Math.abs(limit) >= 2 ** 31),
      );
      assert.ok(long.length > 0);
      assert.deepEqual(
        long.filter(({ format }) => format !== "int64"),
        [],
      );
    });

    it("omits signed storage", () => assert.equal(JSON.stringify(document.paths).includes("/_storage/{"), false));
  });
}
