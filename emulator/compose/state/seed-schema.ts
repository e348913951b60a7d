import * as z from "zod";
import { Seed } from "./seed.ts";

/** The JSON Schema of seed files, for editors and for those who generate them. */
export const seedSchema = (): object => ({
  ...z.toJSONSchema(Seed, { io: "input", unrepresentable: "any" }),
  title: "Seed of the emulator",
  description: "A starting state: svc emulator start --seed FILE",
});
