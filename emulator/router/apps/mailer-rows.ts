import * as z from "zod";
import { rows, type Transaction } from "../../store/port.ts";
import { storedTime } from "../../store/stored-time.ts";

/** An inbound e-mail that was taken and kept from everybody (DECISIONS.md, R27). */
const BlackholeMail = z.strictObject({
  id: z.int(),
  /** Virtual milliseconds. */
  received_at: storedTime(z.number()),
  content_type: z.string().nullable(),
  body_base64: z.string(),
});
type BlackholeMail = z.infer<typeof BlackholeMail>;

export const blackholeMails = rows<BlackholeMail>({
  name: "blackhole_mails",
  schema: BlackholeMail,
  key: (row) => row.id,
  numbers: { blackhole_mail: (row) => row.id },
  indexes: {},
});

/** Anybody may send mail here, so only the newest is kept: so many, and so many bytes in base64. */
export const blackholeLimits = { count: 1_000, bytes: 16 * 1024 * 1024 } as const;

const weight = ({ body_base64, content_type }: BlackholeMail): number =>
  body_base64.length + (content_type?.length ?? 0);

/** Keeps a mail, and drops the oldest that are too many with it. The newest stays, however large. */
export async function keepMail(tx: Transaction, mail: Omit<BlackholeMail, "id">): Promise<void> {
  const row = { id: tx.next("blackhole_mail"), ...mail };
  tx.put(blackholeMails, row);
  const kept = await tx.list(blackholeMails);
  let count = kept.length;
  let bytes = kept.reduce((sum, each) => sum + weight(each), 0);
  for (const oldest of kept) {
    if (count === 1 || (count <= blackholeLimits.count && bytes <= blackholeLimits.bytes)) break;
    tx.delete(blackholeMails, oldest.id);
    count -= 1;
    bytes -= weight(oldest);
  }
}
