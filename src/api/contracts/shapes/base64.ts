import type * as z from "zod";
import { decodeFileBase64 } from "../../../base/base64.ts";

/** For readers: handlers decode the text, and refuse what is none; a pattern would walk megabytes twice. */
const breaks = "[\\r\\n]*";
const digit = `[A-Za-z0-9+/]${breaks}`;
const end = `(?:${digit}){2}=${breaks}=${breaks}|(?:${digit}){3}=${breaks}`;
const pattern = `^${breaks}(?:(?:${digit}){4})*(?:${end})?$`;

/** A text that holds bytes in base64. A command line may name a file in its place. */
export const base64 = <Text extends z.ZodType>(text: Text, description: string): Text =>
  text.meta({ description, contentEncoding: "base64", pattern });

/** The same where no handler decodes it. */
export const checkedBase64 = (text: z.ZodString, description: string): z.ZodString =>
  base64(
    text.refine((given) => decodeFileBase64(given) !== undefined, { error: "Input should be valid base64" }),
    description,
  );
