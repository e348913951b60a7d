import type { Failure } from "../../api/failure.ts";
import type { Json } from "./schemas.ts";

interface Form {
  /** Name among the schemas of the document. */
  readonly name: string;
  readonly mediaType: string;
  readonly schema: Json;
  /** Further schemas of the document that this one refers to. */
  readonly parts?: Json;
  /** Shown for a failure whose body cannot be made up from its words. */
  readonly sample: unknown;
}

const text = { type: "string" };
const object = (required: readonly string[], properties: Json): Json => ({ type: "object", required, properties });

/** The forms of failure bodies, each described once in every document (src/api/failure.ts). */
export const failureShapes: Readonly<Record<Failure["shape"], Form>> = {
  detail: {
    name: "Detail",
    mediaType: "application/json",
    schema: object(["detail"], { detail: text }),
    sample: { detail: "<sentence>" },
  },
  domain: {
    name: "DomainError",
    mediaType: "application/json",
    schema: object(["detail", "status_code", "code", "message"], {
      detail: text,
      status_code: { type: "integer" },
      code: text,
      message: text,
    }),
    sample: { detail: "<sentence>", status_code: 400, code: "<code>", message: "<sentence>" },
  },
  fields: {
    name: "FieldErrors",
    mediaType: "application/json",
    // Nested rows are keyed by field and index, so only the outermost keys are sure, and one of them by name.
    schema: {
      type: "object",
      properties: { non_field_errors: { type: "array", items: text, description: "Errors of the whole request" } },
      additionalProperties: {},
    },
    sample: { "<field>": ["<message>"] },
  },
  validation: {
    name: "HTTPValidationError",
    mediaType: "application/json",
    // As FastAPI prints them.
    schema: {
      type: "object",
      properties: { detail: { type: "array", items: { $ref: "#/components/schemas/ValidationError" } } },
    },
    parts: {
      ValidationError: object(["loc", "msg", "type"], {
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
    schema: object(["error"], { error: text, error_description: text }),
    sample: { error: "<code>" },
  },
  control: {
    name: "ControlError",
    mediaType: "application/json",
    schema: object(["error"], { error: object(["code", "message"], { code: text, message: text, hint: text }) }),
    sample: { error: { code: "<code>", message: "<sentence>" } },
  },
  xml: {
    name: "StorageError",
    mediaType: "application/xml",
    schema: object(["Code", "Message"], { Code: text, Message: text }),
    sample: "<Error><Code/><Message/></Error>",
  },
  text: { name: "PlainText", mediaType: "text/plain", schema: text, sample: "<sentence>" },
};
