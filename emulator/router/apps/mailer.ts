import * as z from "zod";
import { inTransaction } from "../../http/handler.ts";
import { defineNumberedRows, storedTime, type Transaction } from "../../store/port.ts";
import type { RouterHandlers } from "../context.ts";

export const mailerHandlers = {
  "mailer.blackhole": inTransaction((tx, { body }, { clock, request }) => {
    storeMail(tx, {
      received_at: clock.now(),
      content_type: request.headers["content-type"] ?? null,
      body_base64: body.toString("base64"),
    });
    return {};
  }),
} satisfies RouterHandlers;

/** An inbound e-mail that was accepted but not delivered (DECISIONS.md, R27). */
const BlackholeMail = z.strictObject({
  id: z.int(),
  /** Virtual milliseconds. */
  received_at: storedTime(z.number()),
  content_type: z.string().nullable(),
  body_base64: z.string(),
});
type BlackholeMail = z.infer<typeof BlackholeMail>;

export const blackholeMails = defineNumberedRows("blackhole_mails", "blackhole_mail", BlackholeMail);

/** Limits on stored mails, which unauthenticated clients can send: number, and bytes with contents as base64. */
export const maxBlackholeMails = { count: 1_000, bytes: 16 * 1024 * 1024 } as const;

const measureMail = ({ body_base64, content_type }: BlackholeMail): number =>
  body_base64.length + (content_type?.length ?? 0);

/** Stores a mail and deletes the oldest mails above the limits. The newest mail is stored regardless of its size. */
function storeMail(tx: Transaction, mail: Omit<BlackholeMail, "id">): void {
  const row = { id: tx.next("blackhole_mail"), ...mail };
  tx.put(blackholeMails, row);
  const mails = tx.list(blackholeMails);
  let count = mails.length;
  let bytes = mails.reduce((sum, each) => sum + measureMail(each), 0);
  for (const oldest of mails) {
    if (count === 1 || (count <= maxBlackholeMails.count && bytes <= maxBlackholeMails.bytes)) break;
    tx.delete(blackholeMails, oldest.id);
    count -= 1;
    bytes -= measureMail(oldest);
  }
}
