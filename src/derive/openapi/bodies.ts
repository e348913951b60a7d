import type * as z from "zod";
import type { Activity } from "../../api/activities.ts";
import { isOAuthRequest, type Operation, type RequestBody, type ResponseBody } from "../../api/operation.ts";
import type { Service } from "../../api/services.ts";
import { slugify } from "../../base/text.ts";
import type { Json, SchemaWriter } from "./schemas.ts";

export function buildRequestBody(operation: Operation, writer: SchemaWriter): Json | undefined {
  const { service, request } = operation;
  const { body } = request;
  if (!body) return undefined;
  const bodyExamples = operation.examples.filter(({ body }) => body !== undefined);
  const examples = Object.fromEntries(
    bodyExamples.map(({ title, body }) => [slugify(title), { summary: title, value: body }]),
  );
  return {
    required: !isBodyOptional(body, service),
    content: Object.fromEntries(
      Object.entries(buildRequestContent(body, writer)).map(([mediaType, schema]) => [
        mediaType,
        { schema, ...(bodyExamples.length > 0 ? { examples } : {}) },
      ]),
    ),
  };
}

/**
 * Reports whether the emulator accepts a request without a body. It treats missing bytes as empty, and accepts a form
 * without fields.
 */
function isBodyOptional(body: RequestBody, { absentBody }: Service): boolean {
  if (!("schema" in body)) return true;
  // Errors in the handler's own wording are only in the schema's metadata.
  const { required, oneOf, anyOf } = unwrapDefault(body.schema).meta() ?? {};
  if (required ?? oneOf ?? anyOf) return false;
  const readAsEmpty = body.kind === "form" || absentBody === "empty";
  return [undefined, ...(readAsEmpty ? [{}] : [])].some((emptyBody) => body.schema.safeParse(emptyBody).success);
}

/** Omits the default, which confuses generators. `required` states that a body can be absent. */
const unwrapDefault = (schema: z.ZodType): z.ZodType =>
  schema.type === "default" || schema.type === "prefault" ? (schema as z.ZodDefault<z.ZodType>).unwrap() : schema;

/** Lists one media type, because generators make awkward clients of two. The other one of `jsonOrForm` is tolerated. */
function buildRequestContent(body: RequestBody, writer: SchemaWriter): Json {
  switch (body.kind) {
    case "json":
    case "form":
    case "jsonOrForm": {
      const isForm = body.kind === "form" || isOAuthRequest(body);
      const mediaType = isForm ? "application/x-www-form-urlencoded" : "application/json";
      return { [mediaType]: writer.write(unwrapDefault(body.schema), "input") };
    }
    case "raw":
      return { "*/*": { description: "Forwarded byte for byte" } };
    case "stream":
      return { "*/*": { description: `At most ${body.maxBytes} bytes` } };
  }
}

/** Builds the success responses of an operation, by status. A forwarded response can have other statuses. */
export function buildSuccessResponses(operation: Operation, writer: SchemaWriter): Json {
  const declared = Object.entries(operation.responses);
  const hasClusterResponse = declared.some(([, body]) => body.kind === "passthrough");
  return {
    ...Object.fromEntries(
      declared.map(([status, body]) => {
        const { description, ...more } = buildResponse(body, writer);
        return [status, { description: `${status}: ${description}`, ...more }];
      }),
    ),
    ...(hasClusterResponse
      ? { default: { description: "Other responses of the cluster, unchanged", content: { "*/*": {} } } }
      : {}),
  };
}

function buildResponse(body: ResponseBody, writer: SchemaWriter) {
  const createContent = (mediaType: string, schema: Json) => ({ [mediaType]: { schema } });
  switch (body.kind) {
    case "json":
      return {
        description: "a JSON document",
        content: createContent("application/json", writer.write(body.schema, "output")),
      };
    case "empty":
      return { description: "no body" };
    case "html":
      return { description: "a page", content: createContent("text/html", { type: "string" }) };
    case "bytes":
      return {
        description: "a file",
        // Generated clients return nothing for content without a schema.
        content: Object.assign(
          {},
          ...[body.mediaType, ...(body.others ?? [])].map((type) =>
            createContent(type, { type: "string", ...(type.includes("text") ? {} : { format: "binary" }) }),
          ),
        ),
      };
    case "redirect":
      return {
        description: "a redirect",
        headers: { location: { description: "Target of the redirect", required: true, schema: { type: "string" } } },
      };
    case "events": {
      const event = writer.write(body.schema, "output");
      return {
        description: "server-sent events; the data of each is a JSON document as in x-event",
        content: { "text/event-stream": { schema: { type: "string", "x-event": event } } },
      };
    }
    case "passthrough":
      return {
        description: "the cluster's own headers and body",
        content: body.schema ? createContent("application/json", writer.write(body.schema, "output")) : { "*/*": {} },
      };
  }
}

/** Builds the webhooks of OpenAPI 3.1: one POST per activity, by name. */
export function buildWebhookItems(payloads: ReadonlyMap<Activity, z.ZodType>, writer: SchemaWriter): Json {
  return Object.fromEntries(
    [...payloads].map(([activity, payload]) => {
      const post = {
        operationId: `webhook.${slugify(activity)}`,
        summary: `Webhook for ${activity}`,
        // The receiver chooses its own authentication. The signature identifies the sender.
        security: [],
        parameters: [{ $ref: "#/components/parameters/ContentHash" }],
        requestBody: { required: true, content: { "application/json": { schema: writer.write(payload, "output") } } },
        responses: { "2XX": { description: "Received; any other response is a failed attempt and is retried" } },
      };
      return [activity, { post }];
    }),
  );
}
