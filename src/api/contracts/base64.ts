import type * as z from "zod";

/** A text that holds bytes in base64. A command line may name a file in its place. */
export const base64 = <Text extends z.ZodType>(text: Text, description: string): Text =>
  text.meta({ description, contentEncoding: "base64" });
