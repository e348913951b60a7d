import * as z from "zod";
import { defineMapping, defineRows, type Migration } from "../../emulator/store/port.ts";

/** One collection in three versions of svc, and a mapping that does not change. */
export const members = defineRows<{ id: number; name: string }>({
  name: "members",
  schema: z.strictObject({ id: z.int(), name: z.string() }),
  key: (row) => row.id,
  indexes: {},
});
export const splitNameMigration: Migration = ({ name, ...rest }) => ({
  ...rest,
  first_name: String(name).split(" ")[0],
});
const addGrade: Migration = (row) => ({ ...row, grade: 1 });
export const secondMembers = defineRows<{ id: number; first_name: string }>({
  name: "members",
  migrate: [splitNameMigration],
  schema: z.strictObject({ id: z.int(), first_name: z.string() }),
  key: (row) => row.id,
  indexes: {},
});
export const thirdMembers = defineRows<{ id: number; first_name: string; grade: number }, "grade">({
  name: "members",
  migrate: [splitNameMigration, addGrade],
  schema: z.strictObject({ id: z.int(), first_name: z.string(), grade: z.int() }),
  key: (row) => row.id,
  indexes: { grade: (row) => row.grade },
});
/** The third version without its migration. */
export const membersWithoutMigration = { ...thirdMembers, migrate: [] };
export const owners = defineMapping("owners");
