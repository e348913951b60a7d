import { Html, hiddenFields, html } from "../../http/page.ts";
import type { Parameters } from "../parameters.ts";
import { longestText } from "./acts.ts";
import type { ShownToPerson } from "./shown.ts";
import type { Turn } from "./turns.ts";

/** What a person can do whose turn it is: a form for each kind of work, and one for a comment. */
export function forms({ mine, token }: ShownToPerson, typed: Parameters = {}): readonly Html[] {
  const works = new Set(mine.map(({ work }) => work));
  const hidden = hiddenFields({ form_token: token });
  const text = (act: string) => (typed.act === act ? typed.text : undefined);
  const form = (content: Html): Html => html`<form method="post">${hidden}${content}</form>`;
  const formsOf: Readonly<Record<Turn["work"], () => readonly Html[]>> = {
    sign: () => [form(signForm(text("sign"))), declining(typed.act === "decline", form(declineForm(text("decline"))))],
    review: () => [form(html`<p><button name="act" value="complete-review">Complete the review</button></p>`)],
    approve: () => [form(approveForm(text("approve")))],
  };
  return [
    ...[...works].flatMap((work) => formsOf[work]()),
    ...(works.size === 0 ? [] : [form(commentForm(text("comment")))]),
  ];
}

const signForm = (text: string | undefined): Html => html`${field("Note (may stay empty)", text)}
<p><button name="act" value="sign">Sign</button></p>`;

/** Nobody can take it back, so it is not the next thing to press. Without a script, a part that opens is what asks. */
const declining = (isOpen: boolean, form: Html): Html =>
  html`<details${new Html(isOpen ? " open" : "")}><summary>Decline</summary>
<p>The contract goes back to its owner. Nobody can sign it until it is sent again.</p>
${form}</details>`;

const declineForm = (text: string | undefined): Html => html`${field("Reason (may stay empty)", text)}
<p><button name="act" value="decline" class="danger">Decline the contract</button></p>`;

const approveForm = (text: string | undefined): Html => html`${field("Note on the approval (may stay empty)", text)}
<p><button name="act" value="approve">Approve</button></p>`;

const commentForm = (text: string | undefined): Html => html`${field("Comment", text, "required")}
<p><button name="act" value="comment" class="other">Add the comment</button></p>`;

/** A textarea drops one line break at its beginning, so that one is given. */
const field = (label: string, text: string | undefined, required?: "required"): Html =>
  html`<p><label>${label}: <textarea name="text" rows="2" maxlength="${longestText}" ${required}>
${text}</textarea></label></p>`;
