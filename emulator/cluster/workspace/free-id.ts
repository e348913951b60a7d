import type { Rows, Transaction } from "../../store/port.ts";

/** The next unused number. Seeds choose their own numbers. */
export async function freeId<Row extends object>(
  tx: Transaction,
  collection: Rows<Row, string, number>,
  sequence: string,
): Promise<number> {
  for (;;) {
    const id = tx.next(sequence);
    if (!(await tx.get(collection, id))) return id;
  }
}
