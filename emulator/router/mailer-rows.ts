import * as z from "zod";
import { rows } from "../store/store.ts";

/** An inbound e-mail that was taken and kept from everybody (decisions.md, R27). */
const BlackholeMail = z.strictObject({
  id: z.int(),
  /** Virtual milliseconds. */
  received_at: z.number(),
  content_type: z.string().nullable(),
  body_base64: z.string(),
});

export const blackholeMails = rows<z.infer<typeof BlackholeMail>>({
  name: "blackhole_mails",
  schema: BlackholeMail,
  key: (row) => String(row.id),
  indexes: {},
});
