import * as z from "zod";

/** An attribute of a template or a question of an intake form (DECISIONS.md, F16, F22). */
export const Attribute = z.strictObject({
  display_label: z.string(),
  variable: z.string(),
  type: z.enum([
    "string",
    "boolean",
    "int",
    "float",
    "array of strings",
    "array of options",
    "enum",
    "date",
    "repeating",
    "array of files",
  ]),
  help_text: z.string().optional(),
  options: z.array(z.strictObject({ label: z.string(), value: z.unknown() })).optional(),
  required: z.boolean(),
  default_value: z.unknown().optional(),
});
