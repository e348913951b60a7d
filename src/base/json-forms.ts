/** How one JSON document is written: without blanks, with a blank after each comma and colon, or in ASCII alone. */
export const jsonForms = ["compact", "spaced", "escaped"] as const;
export type JsonForm = (typeof jsonForms)[number];

/** The forms of webhooks: one for all of them, or in turn. */
export const webhookJsonForms = [...jsonForms, "mixed"] as const;
export type WebhookJsonForm = (typeof webhookJsonForms)[number];

/** The form of the webhook with this number. */
export const formOfWebhook = (form: WebhookJsonForm, number: number): JsonForm =>
  form === "mixed" ? jsonForms[number % jsonForms.length]! : form;

/** The same document in another form: numbers and the order of keys stay. `text` is what `JSON.stringify` made. */
export function writeJson(text: string, form: JsonForm): string {
  if (form === "spaced") return text.replace(stringOrMark, (found) => (found.length === 1 ? `${found} ` : found));
  if (form === "escaped") return text.replace(/[\u0080-\uffff]/g, escapeUnit);
  return text;
}

/** A string, which stays as it is, or a mark between values: a string has at least two characters. */
const stringOrMark = /"(?:[^"\\]|\\.)*"|[,:]/g;

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
