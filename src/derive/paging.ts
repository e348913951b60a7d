import type { Operation } from "../api/operation.ts";
import type { Paging } from "./command-spec.ts";
import { inputSchema, type JsonSchema, outputSchema, resolveSchema } from "./fields.ts";

/** The names that the services give to the count of all rows. */
const totals = ["total_results", "total_count", "total"] as const;

/** Undefined where the operation answers whole: a paged one takes a `limit`, and says beside its rows how many there are. */
export function derivePaging({ request, responses, cli }: Operation): Paging | undefined {
  const answer = responses[200];
  if (!request.query || answer?.kind !== "json" || !("command" in cli) || cli.rows === undefined) return undefined;
  const query = propertiesOf(inputSchema(request.query));
  const answered = propertiesOf(outputSchema(answer.schema));
  const total = totals.find((name) => Object.hasOwn(answered, name));
  if (!query.limit || total === undefined) return undefined;
  const by = (["page", "offset"] as const).find((name) => Object.hasOwn(query, name));
  return { ...(by === undefined ? {} : { by }), most: Number(query.limit.maximum), total };
}

const propertiesOf = (schema: JsonSchema): Record<string, JsonSchema> =>
  (resolveSchema(schema, schema).properties ?? {}) as Record<string, JsonSchema>;
