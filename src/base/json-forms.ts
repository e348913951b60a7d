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
  if (form === "spaced") return spaceMarks(text);
  if (form === "escaped") return text.replace(/[\u0080-\uffff]/g, escapeUnit);
  return text;
}

/** A blank after each comma and colon that is not in a string. */
function spaceMarks(text: string): string {
  const pieces: string[] = [];
  let isString = false;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "\\") at += 1;
    else if (char === '"') isString = !isString;
    else if (!isString && (char === "," || char === ":")) {
      pieces.push(text.slice(from, at + 1));
      from = at + 1;
    }
  }
  return [...pieces, text.slice(from)].join(" ");
}

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
