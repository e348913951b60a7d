import type * as z from "zod";
import type { Failure } from "../../api/failure.ts";

export type Json = Readonly<Record<string, unknown>>;
export type SchemaNames = ReadonlyMap<z.ZodType, string>;

/** Direction of a value. `input` is a client's input, with defaults omitted. `output` is a service's response. */
type Direction = "input" | "output";

export type SchemaWriter = ReturnType<typeof createSchemaWriter>;

/**
 * Writes schemas as JSON Schema. Named schemas become references and are described once, in `components`. Schemas of
 * responses must be written first, because they have precedence for names.
 */
export function createSchemaWriter(names: SchemaNames) {
  const components = new Map<string, Json>();
  const responseNames = new Set<string>();

  const write = (schema: z.ZodType, direction: Direction): Json =>
    writeReference(schema, direction) ?? writeBody(schema, direction);

  const writeBody = (schema: z.ZodType, direction: Direction): Json => {
    const { $schema: _, ...json } = schema.toJSONSchema({
      io: direction,
      unrepresentable: "any",
      override: ({ zodSchema, jsonSchema, path }) => {
        // The types of zod's core and of its classes only differ by name.
        const known = path.length > 0 ? writeReference(zodSchema as unknown as z.ZodType, direction) : undefined;
        Object.assign(jsonSchema, known);
        simplifySchema(jsonSchema, direction);
      },
    });
    return json;
  };

  const writeReference = (schema: z.ZodType, direction: Direction): Json | undefined => {
    // A schema with its own description has the same shape as its parent.
    const name = names.get(schema) ?? (schema._zod.parent && names.get(schema._zod.parent as z.ZodType));
    if (name === undefined) return undefined;
    if (direction === "output") responseNames.add(name);
    // A schema that differs in the two directions becomes two schemas in OpenAPI.
    const isSecond = direction === "input" && responseNames.has(name) && differsByDirection(schema);
    const key = isSecond ? `${name}Input` : name;
    if (!components.has(key)) {
      components.set(key, {});
      components.set(key, writeBody(schema, direction));
    }
    return createReference(key);
  };

  /** Writes the fields of an object one by one, because OpenAPI's parameters are not an object. */
  const writeFields = (shape: z.ZodObject) => {
    const { properties = {}, required = [] } = writeBody(shape, "input");
    return { properties, required } as { properties: Readonly<Record<string, Json>>; required: readonly string[] };
  };

  /** Writes the forms that a failure body can have. Several forms become one type, such as `DetailOrFieldErrors`. */
  const writeForms = (forms: readonly SchemaForm[]): Json => {
    for (const { name, schema, parts } of forms) {
      for (const [key, part] of Object.entries({ [name]: schema, ...parts })) components.set(key, part);
    }
    const key = forms.map(({ name }) => name).join("Or");
    // A body can have several forms, so `oneOf` would fail.
    if (forms.length > 1) components.set(key, { anyOf: forms.map(({ name }) => createReference(name)) });
    return createReference(key);
  };

  return {
    write,
    writeFields,
    writeForms,
    getComponents: () => Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

const createReference = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

/** Changes the schema in place, as zod's override requires. */
function simplifySchema(json: Record<string, unknown>, direction: Direction): void {
  if ("$ref" in json) {
    for (const key of Object.keys(json)) if (!["$ref", "description", "default"].includes(key)) delete json[key];
  }
  // With closed objects, clients would reject fields that the service adds later.
  if (json.additionalProperties === false && direction === "output") delete json.additionalProperties;
  if ("format" in json) {
    // The pattern of a date adds nothing to the format. Formats of the library have no meaning in other tools.
    if (standardFormats.has(json.format)) delete json.pattern;
    else delete json.format;
  }
  // By default, generators use 32-bit integers, which are too small for these limits.
  if ([json.minimum, json.maximum].some((limit) => Math.abs(Number(limit)) > maxInt32)) json.format = "int64";
  if (JSON.stringify(json.propertyNames) === '{"type":"string"}') delete json.propertyNames;
  if (Array.isArray(json.prefixItems)) convertToList(json, json.prefixItems);
}

const maxInt32 = 2 ** 31 - 1;

const standardFormats: ReadonlySet<unknown> = new Set(["date-time", "date", "email", "uri", "uuid"]);

/**
 * Converts a tuple to a list, because generators have problems with tuples. A list with a fixed number of items of one
 * form is enough for a pair.
 */
function convertToList(json: Record<string, unknown>, items: readonly unknown[]): void {
  const forms = [...new Set(items.map((item) => JSON.stringify(item)))].map((text) => JSON.parse(text));
  delete json.prefixItems;
  Object.assign(json, {
    items: forms.length === 1 ? forms[0] : { anyOf: forms },
    minItems: items.length,
    maxItems: items.length,
  });
}

const differsByDirection = (schema: z.ZodType): boolean => {
  const toText = (io: Direction) =>
    JSON.stringify(
      schema.toJSONSchema({
        io,
        unrepresentable: "any",
        override: ({ jsonSchema }) => simplifySchema(jsonSchema, "output"),
      }),
    );
  return toText("input") !== toText("output");
};

interface SchemaForm {
  readonly name: string;
  readonly mediaType: string;
  readonly schema: Json;
  /** Other schemas to which this schema refers. */
  readonly parts?: Readonly<Record<string, Json>>;
  /** Example for failures whose body cannot be generated from a template. */
  readonly sample: unknown;
}

const text = { type: "string" };
const createObjectSchema = (required: readonly string[], properties: Json): Json => ({
  type: "object",
  required,
  properties,
});

/**
 * Forms of failure bodies, each described once in every document (src/api/failure.ts). A domain error is also a detail,
 * and any object can be field errors, so the strictest comes first: some generated clients take the first that fits.
 */
export const failureShapes: Readonly<Record<Failure["shape"], SchemaForm>> = {
  domain: {
    name: "DomainError",
    mediaType: "application/json",
    schema: createObjectSchema(["detail", "status_code", "code", "message"], {
      detail: text,
      status_code: { type: "integer" },
      code: text,
      message: text,
    }),
    sample: { detail: "<sentence>", status_code: 400, code: "<code>", message: "<sentence>" },
  },
  detail: {
    name: "Detail",
    mediaType: "application/json",
    schema: createObjectSchema(["detail"], { detail: text }),
    sample: { detail: "<sentence>" },
  },
  validation: {
    name: "HTTPValidationError",
    mediaType: "application/json",
    // The body has FastAPI's format.
    schema: { type: "object", properties: { detail: { type: "array", items: createReference("ValidationError") } } },
    parts: {
      ValidationError: createObjectSchema(["loc", "msg", "type"], {
        loc: { type: "array", items: { anyOf: [text, { type: "integer" }] } },
        msg: text,
        type: text,
        input: {},
        ctx: { type: "object" },
      }),
    },
    sample: { detail: [{ type: "missing", loc: ["body", "<field>"], msg: "Field required", input: {} }] },
  },
  oauth: {
    name: "OAuthError",
    mediaType: "application/json",
    schema: createObjectSchema(["error"], { error: text, error_description: text }),
    sample: { error: "<code>" },
  },
  control: {
    name: "ControlError",
    mediaType: "application/json",
    schema: createObjectSchema(["error"], {
      error: createObjectSchema(["code", "message"], { code: text, message: text, hint: text }),
    }),
    sample: { error: { code: "<code>", message: "<sentence>" } },
  },
  fields: {
    name: "FieldErrors",
    mediaType: "application/json",
    // Nested rows are keyed by field and index, so only the outermost keys are known, and only one of them by name.
    schema: {
      type: "object",
      properties: { non_field_errors: { type: "array", items: text, description: "Errors of the whole request" } },
      additionalProperties: {},
    },
    sample: { "<field>": ["<message>"] },
  },
  xml: {
    name: "StorageError",
    mediaType: "application/xml",
    schema: createObjectSchema(["Code", "Message"], { Code: text, Message: text }),
    sample: "<Error><Code/><Message/></Error>",
  },
};
