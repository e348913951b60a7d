import type * as z from "zod";
import type { Activity } from "../../api/activities.ts";
import type { Json, SchemaWriter } from "./schemas.ts";

/** What is sent to subscribed receivers, as OpenAPI 3.1 describes it: one POST for each activity, by its name. */
export function webhookItems(payloads: ReadonlyMap<Activity, z.ZodType>, writer: SchemaWriter): Json {
  return Object.fromEntries(
    [...payloads].map(([activity, payload]) => [
      activity,
      { post: delivery(activity, writer.write(payload, "output")) },
    ]),
  );
}

const delivery = (activity: Activity, schema: Json): Json => ({
  operationId: `webhook.${activity}`,
  tags: ["webhooks"],
  summary: `Webhook for ${activity}`,
  // The receiver's own business: the signature shows who sends.
  security: [],
  parameters: [{ $ref: "#/components/parameters/ContentHash" }],
  requestBody: { required: true, content: { "application/json": { schema } } },
  responses: { "2XX": { description: "Received; any other response is a failed attempt and is retried" } },
});
