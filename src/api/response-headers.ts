import * as z from "zod";
import { dictionary } from "./dictionary.ts";

/** Whether HTTP can carry it as the name of a field (RFC 9110, 5.1). */
export const isHeaderName = (name: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(name);

/** Whether HTTP can carry it as the value of a field (RFC 9110, 5.5). */
export const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

/** What says how a response is framed: the server writes it, of the body that it sends (RFC 9112, 6). */
const framing = ["connection", "content-length", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

/** Headers of a scripted response. */
export const responseHeaders = dictionary(z.string()).superRefine((given, context) => {
  for (const [name, value] of Object.entries(given)) {
    const message = problemOf(name, value);
    if (message !== undefined) context.addIssue({ code: "custom", message, path: [name] });
  }
});

function problemOf(name: string, value: string): string | undefined {
  if (!isHeaderName(name)) return "must be letters, digits and !#$%&'*+-.^_`|~";
  if (framing.includes(name.toLowerCase())) return "is set by the emulator";
  return isHeaderValue(value) ? undefined : "must be ISO-8859-1 without control characters";
}
