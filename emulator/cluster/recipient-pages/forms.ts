import { type Html, hiddenFields, html } from "../../http/page.ts";
import type { Parameters } from "../parameters.ts";
import { longestText } from "./acts.ts";
import type { ShownToPerson } from "./shown.ts";
import type { Turn } from "./turns.ts";

/** What a person can do whose turn it is: a form for each kind of work, and one for a comment. */
export function forms({ mine, token }: ShownToPerson, typed: Parameters = {}): readonly Html[] {
  const works = new Set(mine.map(({ work }) => work));
  const hidden = hiddenFields({ form_token: token });
  const text = (acts: readonly string[]) => (acts.includes(typed.act ?? "") ? typed.text : undefined);
  const form = (content: Html): Html => html`<form method="post">${hidden}${content}</form>`;
  return [
    ...[...works].map((work) => form(formOf[work](text))),
    ...(works.size === 0 ? [] : [form(commentForm(text(["comment"])))]),
  ];
}

type Typed = (acts: readonly string[]) => string | undefined;

const formOf: Readonly<Record<Turn["work"], (text: Typed) => Html>> = {
  sign: (text) => html`${field("Note (may stay empty)", text(["sign", "decline"]))}
<p><button name="act" value="sign">Sign</button> <button name="act" value="decline" class="other">Decline</button></p>`,
  review: () => html`<p><button name="act" value="complete-review">Complete the review</button></p>`,
  approve: (text) => html`${field("Note on the approval (may stay empty)", text(["approve"]))}
<p><button name="act" value="approve">Approve</button></p>`,
};

const commentForm = (text: string | undefined): Html => html`${field("Comment", text, "required")}
<p><button name="act" value="comment" class="other">Add the comment</button></p>`;

/** A textarea drops one line break at its beginning, so that one is given. */
const field = (label: string, text: string | undefined, required?: "required"): Html =>
  html`<p><label>${label}: <textarea name="text" rows="2" maxlength="${longestText}" ${required}>
${text}</textarea></label></p>`;
