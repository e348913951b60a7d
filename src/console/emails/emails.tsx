import { callOperation, canReadSecrets } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { toWords } from "../format.ts";
import { Copy } from "../parts/action.tsx";
import { Empty, Head, Icon, Name, ProblemMessage, State, VirtualTime } from "../parts/messages.tsx";
import { TruncationNote } from "../parts/rows.tsx";
import { isInWorkspace, WorkspaceFilter } from "../parts/workspace-filter.tsx";
import { useLoaded } from "../state/act.ts";
import { buildHref } from "../state/route.ts";

type Email = OperationResult<"emails.list">["items"][number];

const maxShown = 200;

/** Lists e-mails that the service would have sent; `about` is a contract or an address. */
export function Emails({ about }: { readonly about: string | undefined }) {
  const filter = about === undefined ? {} : about.includes("@") ? { recipient: about } : { contract: about };
  const { value: page, problem } = useLoaded(about ?? "", ["emails"], () =>
    callOperation("emails.list", { query: { ...filter, limit: maxShown } }),
  );
  const items = page?.items.filter(({ workspace_id }) => isInWorkspace(workspace_id)) ?? [];
  return (
    <>
      <Head
        title={about === undefined ? "E-mails" : about.includes("@") ? `E-mails to ${about}` : `E-mails about ${about}`}
        about="E-mails are recorded but not sent. The emulator writes their text. Their links work. Times are virtual."
      >
        <WorkspaceFilter />
      </Head>
      {problem && <ProblemMessage problem={problem} />}
      {page?.total === 0 && (
        <Empty title="No e-mails yet">E-mails are created by sent contracts, invitations and trials.</Empty>
      )}
      {page !== undefined && page.total > 0 && items.length === 0 && (
        <Empty title={page.total > maxShown ? "None of the newest e-mails" : "No e-mails in this workspace"} />
      )}
      <ul class="cards">
        {items.map((email) => (
          <EmailRow key={email.id} {...email} />
        ))}
      </ul>
      <TruncationNote shown={maxShown} of={page?.total} what="e-mail" />
    </>
  );
}

/** The mailer's reports about an e-mail. */
const eventWords = new Map([
  ["delivery", "delivered"],
  ["send", "sent"],
  ["open", "opened"],
  ["click", "link clicked"],
  ["bounce", "bounced"],
]);

function EmailRow({ id, recipient, mode, subject, text, link, token, contract_id, sent_at, events }: Email) {
  return (
    <li>
      <div class="who">
        <strong>
          <Name>{subject}</Name>
        </strong>
        <span class="muted">
          to {recipient}
          {mode === "cc" && " (copy)"} · <VirtualTime at={sent_at} /> · e-mail {id}
          {contract_id !== null && (
            <>
              {" "}
              · <a href={buildHref("contracts", contract_id)}>contract number {contract_id}</a>
            </>
          )}
        </span>
        <p>
          <Name>{text}</Name>
        </p>
        {link === null && token !== null && canReadSecrets.value && (
          <span>
            Token: <code>{token}</code>
          </span>
        )}
        {events.length > 0 && (
          <span class="events">
            {events.slice(-6).map(({ type, at, detail }) => (
              <span key={`${type} ${at}`} title={detail ?? undefined}>
                <State tone={/bounce|drop|reject|fail|not/i.test(type) ? "bad" : "good"}>
                  {eventWords.get(type.toLowerCase()) ?? toWords(type)}
                </State>
              </span>
            ))}
          </span>
        )}
      </div>
      {link !== null && canReadSecrets.value && (
        <div class="actions">
          <a class="button" href={link} target="_blank" rel="noreferrer">
            Open link <Icon name="out" />
            <span class="unseen"> of e-mail {id}, in a new tab</span>
          </a>
          <Copy text={link} label="Copy link" of={`of e-mail ${id}`} />
        </div>
      )}
    </li>
  );
}
