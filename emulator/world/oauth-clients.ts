import * as z from "zod";
import { rows } from "../store/port.ts";

/** An OAuth client, known to the router and to every cluster; public unless it has a secret (DECISIONS.md, R35). */
export const OAuthClient = z.strictObject({
  client_id: z.string(),
  client_name: z.string(),
  client_secret: z.string().nullable().default(null),
  redirect_uris: z.array(z.string()).default([]),
});
export type OAuthClient = z.infer<typeof OAuthClient>;

export const oauthClients = rows<OAuthClient, "origin">({
  name: "oauth_clients",
  schema: OAuthClient,
  key: (row) => row.client_id,
  indexes: {
    origin: ({ redirect_uris }) =>
      redirect_uris
        .flatMap((uri) => (URL.canParse(uri) ? [new URL(uri).origin] : []))
        .filter((each) => each !== "null"),
  },
});
