import * as z from "zod";
import { defineMapping, defineRows, type Migration } from "../../emulator/store/port.ts";

/** One collection as three versions of svc know it, and a mapping that stays as it is. */
export const members = defineRows<{ id: number; name: string }>({
  name: "members",
  schema: z.strictObject({ id: z.int(), name: z.string() }),
  key: (row) => row.id,
  indexes: {},
});
export const named: Migration = ({ name, ...rest }) => ({ ...rest, first_name: String(name).split(" ")[0] });
const graded: Migration = (row) => ({ ...row, grade: 1 });
export const second = defineRows<{ id: number; first_name: string }>({
  name: "members",
  version: 2,
  migrate: [named],
  schema: z.strictObject({ id: z.int(), first_name: z.string() }),
  key: (row) => row.id,
  indexes: {},
});
export const third = defineRows<{ id: number; first_name: string; grade: number }, "grade">({
  name: "members",
  version: 3,
  migrate: [named, graded],
  schema: z.strictObject({ id: z.int(), first_name: z.string(), grade: z.int() }),
  key: (row) => row.id,
  indexes: { grade: (row) => row.grade },
});
/** The same as the third, by somebody who forgot the migration. */
export const forgotten = { ...third, version: 1, migrate: [] };
export const owners = defineMapping("owners");
